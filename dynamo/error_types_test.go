package dynamo

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/local/errortypes"
)

// Step Functions match the name of a type, so that each error that leaves has
// one. Where an error is made that has none, something else wraps it.
func TestEveryErrorThatLeavesHasAnExportedType(t *testing.T) {
	walked, err := errortypes.Parse(".")
	if err != nil {
		t.Fatal(err)
	}
	const (
		item        = "Store.read makes it an Error"
		refused     = "Store.refused makes it an Error"
		failed      = "Store.fail makes it an Error"
		transaction = "Tx.add or Tx.Publish makes it a TransactionError"
	)
	for _, fault := range walked.Unexplained(map[string]string{
		"Store.checkChange": refused, "Store.checkCreate": refused, "Tx.request": refused,
		"checkText": refused, "transactionOf": refused,
		"checkSchema": failed, "Store.enableTTL": failed, "Store.change": failed,
		"checkMessage": transaction, "both": transaction, "marshal": transaction, "newParts": transaction, "newAddition": transaction, "Tx.Update": transaction,
		"refusal": "it is the Err of a TransactionError",
	}) {
		t.Error(fault)
	}
}

// Without a server: what is refused before anything is sent.
func TestRefusalsHaveExportedTypes(t *testing.T) {
	client := wireClient(failing(errors.New("sent")))
	s, err := New(client, "records", &Options{CompressAbove: -1})
	if err != nil {
		t.Fatal(err)
	}
	record := func(id string) driver.Record {
		return driver.Record{ID: id, Status: driver.InProgress, Owner: "o", Attempt: 1, Lease: time.Now(), Expires: time.Now()}
	}
	bad := record("1")
	bad.Owner, bad.Expires = "\xff", time.Unix(-1, 0)
	change := func(c driver.Change) error {
		_, _, err := s.Change(t.Context(), driver.Fence{ID: "1", Owner: "o"}, c)
		return err
	}
	ctx := context.Background()
	for name, refuse := range map[string]func() error{
		"Get without an id":        func() error { _, err := s.Get(ctx, ""); return err },
		"Create without an id":     func() error { _, _, err := s.Create(ctx, record(""), time.Time{}, nil); return err },
		"Create of two mistakes":   func() error { _, _, err := s.Create(ctx, bad, time.Time{}, nil); return err },
		"Create with something":    func() error { _, _, err := s.Create(ctx, record("1"), time.Time{}, 1); return err },
		"Change of nothing":        func() error { return change(driver.Change{}) },
		"Change with something":    func() error { return change(driver.Change{Status: driver.Completed, With: 1}) },
		"Change with an open Tx":   func() error { return change(driver.Change{Status: driver.Completed, With: new(Tx)}) },
		"Commit without an id":     func() error { return s.Commit(ctx, "", new(Tx)) },
		"Commit of nothing":        func() error { return s.Commit(ctx, "1", nil) },
		"Commit of something":      func() error { return s.Commit(ctx, "1", 1) },
		"Commit of an open Tx":     func() error { return s.Commit(ctx, "1", new(Tx)) },
		"a step that is too large": func() error { return change(driver.Change{Steps: map[string][]byte{"s": make([]byte, 500<<10)}}) },
	} {
		refused, ok := refuse().(*Error)
		if !ok || refused.Table != "records" || refused.Op == "" || errors.Is(refused, driver.ErrUnavailable) {
			t.Errorf("%s: %T: %v", name, refuse(), refuse())
		}
	}
}

func TestMistakesInOptionsHaveAnExportedType(t *testing.T) {
	client := wireClient(failing(errors.New("sent")))
	for name, refuse := range map[string]func() error{
		"no client":    func() error { _, err := New(nil, "t", nil); return err },
		"no table":     func() error { _, err := New(client, "", nil); return err },
		"a name twice": func() error { _, err := New(client, "t", &Options{Attributes: Attributes{Owner: "id"}}); return err },
		"a long name": func() error {
			_, err := New(client, "t", &Options{Attributes: Attributes{Owner: strings.Repeat("n", 1<<20)}})
			return err
		},
		"a format":            func() error { _, err := New(client, "t", &Options{Data: 9}); return err },
		"compressed and read": func() error { _, err := New(client, "t", &Options{Data: Native, CompressAbove: 1}); return err },
		"a partition":         func() error { _, err := New(client, "t", &Options{Partition: "p"}); return err },
		"shards": func() error {
			_, err := New(client, "t", &Options{Attributes: Attributes{SortKey: "sk"}, Shards: -1})
			return err
		},
		"a long partition": func() error {
			_, err := New(client, "t", &Options{Attributes: Attributes{SortKey: "sk"}, Partition: strings.Repeat("p", 1<<12)})
			return err
		},
	} {
		if err := refuse(); err == nil || !isConfigError(err) {
			t.Errorf("%s: %T: %v", name, err, err)
		}
	}
}

func isConfigError(err error) bool { _, ok := err.(*driver.ConfigError); return ok }

// All mistakes are reported at once.
func TestNewReportsAllMistakes(t *testing.T) {
	_, err := New(nil, "", &Options{Data: 9, Group: -1, Shards: -1, Attributes: Attributes{SortKey: "id"}})
	if _, ok := err.(*driver.ConfigError); !ok {
		t.Fatalf("%T: %v", err, err)
	}
	for _, want := range []string{"client", "table", "Data", "Group", "Shards", "twice"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}
