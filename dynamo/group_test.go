package dynamo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

func TestGroupOptionsAreChecked(t *testing.T) {
	client := dynamodb.New(dynamodb.Options{})
	for name, c := range map[string]struct {
		client  Client
		options Options
		want    string
	}{
		"a client without them": {&fakeClient{}, Options{Group: 1}, "GroupClient"},
		"a quote in a name":     {client, Options{Group: 1, Layout: Layout{Owner: `"o"`}}, "PartiQL"},
		"a name like a value":   {client, Options{Group: 1, Layout: Layout{SortKey: ":sk"}}, "PartiQL"},
	} {
		var e *driver.ConfigError
		if _, err := New(c.client, "records", &c.options); !errors.As(err, &e) || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, o := range []*Options{nil, {}, {Layout: Layout{Owner: `"o"`}}} {
		if s, err := New(&fakeClient{}, "records", o); err != nil || s.group != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	s, err := New(client, "records", &Options{Group: 3})
	if err != nil || s.group == nil {
		t.Fatal(err)
	}
}

// PartiQL finds no table by its ARN.
func TestTableByItsARNSharesNoRequest(t *testing.T) {
	var mu sync.Mutex
	var sent []string
	client := wireClient(func(r *wire.Request) (*wire.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, r.Operation)
		return answering(200, "{}")(r)
	})
	s, err := New(client, "arn:aws:dynamodb:eu-central-1:1:table/records", &Options{Group: 1})
	check.Must(t, err)
	for i, m := range s.createTogether(t, 3, owner) {
		if !m.ok || m.err != nil {
			t.Errorf("%d: %+v", i, m)
		}
	}
	check.Equal(t, strings.Join(sent, " "), "PutItem PutItem PutItem", "sent")
}

// Their batch knows how many writes are coming, and not what they are.
func TestEveryWriteArrivesOnce(t *testing.T) {
	s, _ := intercepted(t)
	writes := map[string]func(ctx context.Context) (driver.Record, bool, error){
		"create": func(ctx context.Context) (driver.Record, bool, error) {
			return s.Create(ctx, claim("op#create"), now, nil)
		},
		"create with a transaction": func(ctx context.Context) (driver.Record, bool, error) {
			tx := new(Tx)
			tx.Update(s.table, s.counter(t).key, expression.Add(expression.Name("n"), expression.Value(1)))
			return s.Create(ctx, driver.Record{ID: "op#tx", Status: driver.Completed}, now, (*attachment)(frozen(t, tx)))
		},
		"refused": func(ctx context.Context) (driver.Record, bool, error) {
			return s.Change(ctx, fence("op#none"), driver.Change{Status: driver.Completed})
		},
		"refund": func(ctx context.Context) (driver.Record, bool, error) {
			return s.Change(ctx, fence("op#none"), driver.Change{Release: driver.ReleaseRefund})
		},
	}
	for name, write := range writes {
		siblings := together(t, 1, func(ctx context.Context, _ int) {
			if _, _, err := write(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		check.Equal(t, siblings.left.Load(), 0, name, "arrivals that are left")
	}
}

func TestCallerThatLeavesReturnsItsOwnError(t *testing.T) {
	s, net := intercepted(t)
	hung, thaw := make(chan struct{}), make(chan struct{})
	net.on(opBatch, firstTime(func(r *wire.Request) (*wire.Response, error) {
		close(hung)
		<-thaw
		return r.Send()
	}))
	all := make([]met, 3)
	together(t, 3, func(ctx context.Context, i int) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if i == 1 {
			go func() {
				<-hung
				// A second one waits for the request, and leaves the queue.
				queued, leave := context.WithTimeout(t.Context(), time.Millisecond)
				defer leave()
				_, ok, err := s.Create(queued, claim("op#queued"), now, nil)
				if ok || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, driver.ErrUnavailable) {
					t.Errorf("from the queue: %v, %v", ok, err)
				}
				cancel()
			}()
		}
		all[i].record, all[i].ok, all[i].err = s.Create(ctx, claim(id(i)), now, nil)
		if i == 1 {
			close(thaw)
		}
	})
	for i, m := range all {
		var e *Error
		switch {
		case i == 1 && (m.ok || !errors.Is(m.err, context.Canceled) || errors.Is(m.err, driver.ErrUnavailable) || !errors.As(m.err, &e) || e.Op != opBatch):
			t.Errorf("the one that left: %+v", m)
		case i != 1 && (!m.ok || m.err != nil):
			t.Errorf("%d: %+v", i, m)
		}
	}
	check.Equal(t, get(t, s, "op#queued").Status, driver.Absent, "the one that left the queue was sent")
}

// panicking is a client of HTTP that calls a function before each request.
type panicking func()

func (f panicking) Do(r *http.Request) (*http.Response, error) {
	f()
	return http.DefaultClient.Do(r)
}

func TestPanicOfTheClientIsAnErrorOfEachWrite(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	var once sync.Once
	s, _ := intercepted(t, func(o *dynamodb.Options) {
		o.HTTPClient = panicking(func() { once.Do(func() { panic("boom") }) })
	})
	for i, m := range s.createTogether(t, 3, owner) {
		var e *Error
		if m.ok || !errors.As(m.err, &e) || e.Op != opBatch || errors.Is(m.err, driver.ErrNotWritten) || !strings.Contains(m.err.Error(), "boom") {
			t.Errorf("%d: %+v", i, m)
		}
	}
	// The error has no stack.
	if lines := log.String(); strings.Count(lines, "\n") != 1 || !strings.Contains(lines, "boom") || !strings.Contains(lines, "group_test.go") {
		t.Errorf("logged %s", lines)
	}
	for i, m := range s.createTogether(t, 3, owner) {
		if !m.ok || m.err != nil {
			t.Errorf("%d, after it: %+v", i, m)
		}
	}
}

// DynamoDB refuses longer statements.
func TestLongStatementGoesAlone(t *testing.T) {
	s, net := intercepted(t)
	s.createTogether(t, 3, owner)
	steps := map[string][]byte{}
	for i := range 100 {
		steps[fmt.Sprintf("%0100d", i)] = nil
	}
	net.sent()
	for i, m := range s.changeTogether(t, 3, driver.Change{Steps: steps}) {
		if !m.ok || m.err != nil || len(get(t, s, id(i)).Steps) != len(steps) {
			t.Errorf("%d: %v, %v", i, m.ok, m.err)
		}
	}
	check.Equal(t, net.sent(), "UpdateItem UpdateItem UpdateItem GetItem GetItem GetItem", "sent")
}

// Most large results are compressed, which takes longer than all else.
func TestResultOfACallThatIsAloneIsEncodedOnce(t *testing.T) {
	const calls = 20
	data := []byte(strings.Repeat("\xff", maxStatementSize/2))
	cost := func(o *Options) uint64 {
		s, err := open(wireClient(answering(200, "{}")), "records", o, true)
		check.Must(t, err)
		finish := func() {
			if _, ok, err := s.Change(t.Context(), fence("op#1"), driver.Change{Status: driver.Completed, Data: data}); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		finish()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range calls {
			finish()
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / calls
	}
	if alone, grouped := cost(&Options{}), cost(&Options{Group: 1}); grouped > alone+uint64(len(data))/2 {
		t.Errorf("a call allocates %d bytes with Group, and %d without", grouped, alone)
	}
}
