package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
)

// What docs/powertools.md says of a table that functions with Powertools for TypeScript
// write, too.

func mixed(t *testing.T, s *Store, config *idempotent.Config) *idempotent.Executor {
	t.Helper()
	x, err := idempotent.New("op", s, config)
	check.Must(t, err)
	return x
}

const shared = "app#cpBAgW9zMMTLMfVKVvWaew=="

// call runs the operation on the shared record.
func call[T any](t *testing.T, x *idempotent.Executor, fn func(context.Context) (T, error)) (T, error) {
	t.Helper()
	return idempotent.Do(t.Context(), x, idempotent.Key{Record: shared}, fn)
}

func mustReplay(context.Context) (string, error) { panic("it runs again") }

// While a lease is live, and after a completion, each side respects the other.
func TestPowertoolsAndOnceRespectEachOther(t *testing.T) {
	s := newStore(t, newClient(t), localStore(t).table, &Options{Data: Native})
	p := newPowertools(t, s)
	x := mixed(t, s, nil)
	if got, err := call(t, x, func(context.Context) (string, error) {
		check.False(t, p.claims(shared, time.Now()), "Powertools claims a live lease")
		return "once's", nil
	}); got != "once's" || err != nil {
		t.Fatal(got, err)
	}
	check.False(t, p.claims(shared, time.Now()), "Powertools claims a finished record")
	p.fails(shared)
	if !p.claims(shared, time.Now()) {
		t.Fatal("Powertools does not claim what is not there")
	}
	_, err := call(t, x, mustReplay)
	check.Is(t, err, idempotent.ErrInProgress, "of a live lease of Powertools")
	p.completes(shared, `{"S":"powertools'"}`)
	got, err := call(t, x, mustReplay)
	check.Equal(t, got, "powertools'")
	check.Nil(t, err)
}

// Its takeover replaces the item. Our attempt is fenced, but what it knew is
// gone: finished steps run again. And its clock has no margin.
func TestPowertoolsTakeoverForgetsSteps(t *testing.T) {
	s := localStore(t)
	p := newPowertools(t, s)
	charges := 0
	work := func(frozen bool) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			_, err := idempotent.Step(ctx, "charge", func(context.Context) (int, error) { charges++; return charges, nil })
			if frozen {
				lease := get(t, s, shared).Lease
				check.False(t, p.claims(shared, lease), "Powertools does not take over a millisecond after the lease")
				check.True(t, p.claims(shared, lease.Add(time.Millisecond)))
			}
			return "done", err
		}
	}
	x := mixed(t, s, nil)
	_, err := call(t, x, work(true))
	check.Is(t, err, idempotent.ErrLeaseLost, "the frozen attempt")
	item := rawItem(t, s, shared)
	if len(item) != 4 || item["owner"] != nil || item["steps"] != nil || item["attempt"] != nil {
		t.Errorf("Powertools leaves %v", item)
	}
	p.fails(shared)
	_, err = call(t, x, work(false))
	check.Nil(t, err)
	check.Equal(t, charges, 2)
}

// MaxAttempts says that nothing runs again before a person has looked.
// Powertools does not know it.
func TestPowertoolsForgetsMaxAttempts(t *testing.T) {
	s := localStore(t)
	p := newPowertools(t, s)
	x := mixed(t, s, &idempotent.Config{MaxAttempts: 1})
	if _, err := call(t, x, func(context.Context) (string, error) { return "", errors.New("who knows") }); err == nil {
		t.Fatal("no error")
	}
	if _, err := call(t, x, mustReplay); !errors.Is(err, idempotent.ErrOutcomeUnknown) {
		t.Fatal(err)
	}
	check.True(t, p.claims(shared, time.Now()), "Powertools does not run it again")
}

// A late end of Powertools has no condition: its completion replaces the
// successor's answer and retention, its failure deletes it, and the work, with
// its transaction, is done again.
func TestPowertoolsLateEndsOverwrite(t *testing.T) {
	for _, late := range []string{"completion", "failure"} {
		t.Run(late, func(t *testing.T) {
			s := newStore(t, newClient(t), localStore(t).table, &Options{Data: Native})
			p := newPowertools(t, s)
			p.retention = 2 * time.Hour
			c := s.counter(t)
			x := mixed(t, s, &idempotent.Config{Retention: 24 * time.Hour})
			work := func(ctx context.Context) (string, error) {
				Collect(ctx).Update(s.table, c.key, expression.Add(expression.Name("n"), expression.Value(1)))
				return "once's", nil
			}
			if !p.claims(shared, time.Now().Add(-time.Hour)) { // and is frozen
				t.Fatal("Powertools does not claim")
			}
			if got, err := call(t, x, work); got != "once's" || err != nil {
				t.Fatal(got, err)
			}
			kept := get(t, s, shared).Expires
			if late == "completion" {
				p.completes(shared, `{"S":"late"}`)
				got, err := call(t, x, mustReplay)
				check.Equal(t, got, "late")
				check.Nil(t, err)
				check.True(t, get(t, s, shared).Expires.Before(kept.Add(-12*time.Hour)))
				return
			}
			p.fails(shared)
			_, err := call(t, x, work)
			check.Nil(t, err)
			check.Equal(t, c.value(), 2)
		})
	}
}

// A process that has cached a result goes on giving it after Powertools has
// replaced it in the table.
func TestCacheDisagreesWithPowertools(t *testing.T) {
	s := newStore(t, newClient(t), localStore(t).table, &Options{Data: Native})
	p := newPowertools(t, s)
	caches, asks := mixed(t, s, &idempotent.Config{CacheEntries: 10}), mixed(t, s, nil)
	_, err := call(t, caches, func(context.Context) (string, error) { return "once's", nil })
	check.Must(t, err)
	p.completes(shared, `{"S":"late"}`)
	for want, x := range map[string]*idempotent.Executor{"once's": caches, "late": asks} {
		got, err := call(t, x, mustReplay)
		check.Equal(t, got, want)
		check.Nil(t, err)
	}
}

// With Native, strings replay both ways. With Text, TypeScript reads JSON text
// for each result, and its strings are no JSON, or another value.
func TestOnlyNativeSharesStringsWithTypeScript(t *testing.T) {
	table := localStore(t).table
	for format, c := range map[DataFormat]struct{ stored, ofHello, ofDigits string }{
		Native: {`hello`, `"hello", <nil>`, `"42", <nil>`},
		Text:   {`"hello"`, "unavailable", "42, <nil>"},
	} {
		s := uncompressed(t, newStore(t, newClient(t), table, &Options{Data: format}))
		p, x := newPowertools(t, s), mixed(t, s, nil)
		p.fails(shared)
		_, err := call(t, x, func(context.Context) (any, error) { return "hello", nil })
		check.Must(t, err)
		if got, ok := rawItem(t, s, shared)["data"].(*types.AttributeValueMemberS); !ok || got.Value != c.stored {
			t.Errorf("format %d: TypeScript gets %v, want %s", format, got, c.stored)
		}
		for data, want := range map[string]string{`{"S":"hello"}`: c.ofHello, `{"S":"42"}`: c.ofDigits} {
			p.completes(shared, data)
			got, err := call(t, x, func(context.Context) (any, error) { panic("it runs again") })
			said := fmt.Sprintf("%#v, %v", got, err)
			if errors.Is(err, idempotent.ErrResultUnavailable) {
				said = "unavailable"
			}
			check.Equal(t, said, want, format, data)
		}
	}
}

// What TypeScript hands to its callers as bytes, without an error: results that
// are compressed, that it cannot hold, or that did not fit.
func TestBinaryResultsOfASharedTable(t *testing.T) {
	large := make([]byte, 300<<10)
	for name, c := range map[string]struct {
		options *Options
		result  any
		binary  bool
	}{
		"compressed":            {nil, fmt.Sprintf("%0*d", 10_000, 0), true},
		"native":                {&Options{Data: Native}, fmt.Sprintf("%0*d", 10_000, 0), false},
		"a number of 40 digits": {&Options{Data: Native}, hugeNumber{}, true},
		"does not fit":          {&Options{Data: Native}, large, true},
	} {
		s := newStore(t, newClient(t), localStore(t).table, c.options)
		_, err := call(t, mixed(t, s, nil), func(context.Context) (any, error) { return c.result, nil })
		check.Must(t, err)
		_, binary := rawItem(t, s, shared)["data"].(*types.AttributeValueMemberB)
		check.Equal(t, binary, c.binary, name)
	}
}

type hugeNumber struct{}

func (hugeNumber) MarshalJSON() ([]byte, error) {
	return []byte("1234567890123456789012345678901234567890"), nil
}

// The remaining time of a TypeScript function may be a fraction, and its lease is
// then one. Once reads it rounded up, and takes it over like any other.
func TestLeaseOfPowertoolsMayBeAFraction(t *testing.T) {
	s := newStore(t, newClient(t), localStore(t).table, &Options{Data: Native})
	p := newPowertools(t, s)
	x := mixed(t, s, nil)
	for _, fraction := range []string{".25", ".9999999", ".0"} {
		lapsed := strconv.FormatInt(time.Now().Add(-time.Minute).UnixMilli(), 10) + fraction
		_, err := s.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &s.table, Item: map[string]types.AttributeValue{
			"id": attribute.Text(shared), "status": attribute.Text("INPROGRESS"), "expiration": attribute.Seconds(time.Now().Add(time.Hour)),
			"in_progress_expiration": &types.AttributeValueMemberN{Value: lapsed},
		}})
		check.Must(t, err)
		got, err := call(t, x, func(context.Context) (string, error) { return fraction, nil })
		check.Equal(t, got, fraction)
		check.Nil(t, err)
		p.fails(shared)
	}
	// It stays in a record that Powertools has completed.
	p.claims(shared, time.Now())
	_, err := s.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &s.table, Key: s.format.Key(shared), UpdateExpression: aws.String("SET in_progress_expiration = :l"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":l": &types.AttributeValueMemberN{Value: "1795000000000.5"}},
	})
	check.Must(t, err)
	p.completes(shared, `{"S":"powertools'"}`)
	got, err := call(t, x, mustReplay)
	check.Equal(t, got, "powertools'")
	check.Nil(t, err)
}
