package idempotent_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// order is the request of a wrapped handler. Its key is theKey without a payload.
type order struct {
	ID   string `json:"id"`
	Note string `json:"note,omitempty"`
}

var theOrder = order{ID: "k", Note: "secret"}

const theRequest = `{"id":"k","note":"secret"}`

func orderKey(o order) (idempotent.Key, error) {
	return idempotent.Key{Scope: theKey.Scope, ID: o.ID}, nil
}

// orders is the wrapped handler of tests: with its event, as try is for Do.
type orders func(ctx context.Context, t testing.TB) result

func wrapOrders(x *idempotent.Executor, fn func(context.Context) (string, error)) orders {
	wrapped := idempotent.Wrap(x, orderKey, func(ctx context.Context, _ order) (string, error) { return fn(ctx) })
	return func(ctx context.Context, t testing.TB) result {
		ctx, event := adapter.WithEvent(ctx)
		value, err := wrapped(ctx, theOrder)
		return result{t, value, event, err}
	}
}

func resumes() *idempotent.Config { return &idempotent.Config{Resume: true} }

func requestOf(t testing.TB, x *idempotent.Executor, r driver.Record) string {
	t.Helper()
	data, err := adapter.Request(t.Context(), x, r)
	check.Must(t, err)
	return string(data)
}

// The request is there while the work is not done, and no longer.
func TestRequestIsStoredUntilTheEnd(t *testing.T) {
	step := func(ctx context.Context) error {
		_, err := idempotent.Step(ctx, "charge", returns(""))
		return err
	}
	for name, test := range map[string]struct {
		end  func(ctx context.Context) error
		left string
		kept bool
	}{
		"success":               {func(context.Context) error { return nil }, "completed", false},
		"a failure for good":    {func(context.Context) error { return idempotent.Permanent(errCrash) }, "failed", false},
		"an error":              {func(context.Context) error { return errCrash }, "no record", false},
		"an error after a step": {func(ctx context.Context) error { return errors.Join(step(ctx), errCrash) }, "released, steps charge", true},
	} {
		for _, kind := range []string{"Wrap", "WrapEffect"} {
			t.Run(name+" of "+kind, func(t *testing.T) {
				store := memory.New(0)
				x := newExecutor(t, store, resumes())
				check.True(t, adapter.Resumes(x))
				fn := func(ctx context.Context, o order) error {
					o.Note = "changed"
					check.Equal(t, requestOf(t, x, stored(t, store)), theRequest)
					return test.end(ctx)
				}
				if kind == "Wrap" {
					_, _ = idempotent.Wrap(x, orderKey, func(ctx context.Context, o order) (string, error) { return "", fn(ctx, o) })(t.Context(), theOrder)
				} else {
					_ = idempotent.WrapEffect(x, orderKey, fn)(t.Context(), theOrder)
				}
				recordIs(t, store, test.left)
				if r := stored(t, store); test.kept {
					check.Equal(t, requestOf(t, x, r), theRequest)
				} else {
					check.Equal(t, len(r.Request), 0)
				}
			})
		}
	}
}

func TestRequestIsStoredOnlyIfAsked(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	wrapOrders(x, func(context.Context) (string, error) {
		r := stored(t, store)
		check.Equal(t, len(r.Request), 0)
		_, err := adapter.Request(t.Context(), x, r)
		check.Is(t, err, idempotent.ErrResume)
		check.Says(t, err, "its claim was made without Config.Resume")
		return "", nil
	})(t.Context(), t).succeeded()
	check.False(t, adapter.Resumes(x))
	check.False(t, adapter.Disabled(x))
	t.Setenv("ONCE_DISABLED", "1")
	check.True(t, adapter.Disabled(newExecutor(t, store, resumes())), "it stores nothing then")
}

// Its function is a closure.
func TestDoHasNoRequestToStore(t *testing.T) {
	store := memory.New(0)
	r := try(t.Context(), t, newExecutor(t, store, resumes()), mustNotRun(t)).ended(idempotent.OutcomeFailed).roundTrips(0)
	check.As[*driver.ConfigError](t, r.err)
	check.Says(t, r.err, "Do has none")
	recordIs(t, store, "no record")
}

// Steps need the rest of the record.
func TestRequestThatIsTooLargeIsRefused(t *testing.T) {
	store := memory.New(0)
	run := func(config *idempotent.Config, bytes int) error {
		x := newExecutor(t, store, config)
		handler := idempotent.WrapEffect(x, func(string) (idempotent.Key, error) { return theKey, nil }, func(context.Context, string) error { return nil })
		return handler(t.Context(), strings.Repeat("x", bytes-2)) // and two quotes
	}
	err := run(resumes(), 256<<10+1)
	check.Is(t, err, idempotent.ErrInvalidPayload)
	check.Says(t, err, "with 262145 bytes it is too large to be stored; at most 262144 are")
	recordIs(t, store, "no record")
	spills := resumes()
	spills.Payloads = newShelf()
	check.Nil(t, run(spills, 256<<10+1))
	check.Must(t, store.Put(driver.Record{ID: recordID(t, theKey)}))
	check.Nil(t, run(resumes(), 256<<10))
}

// unequal has a zero value that JSON does not carry.
type unequal struct{ Names []string }

func (u unequal) MarshalJSON() ([]byte, error) { return []byte(`{"Names":[]}`), nil }

type mute struct{ Name string }

func (r mute) MarshalJSON() ([]byte, error) { return nil, errCrash }

type deaf struct{ Name string }

func (d *deaf) UnmarshalJSON([]byte) error { return errCrash }

func TestRequestsThatJSONDoesNotCarryAreRefusedAtStart(t *testing.T) {
	for name, start := range map[string]func(x *idempotent.Executor){
		"hidden":   startWith[hidden],
		"tagged":   startWith[tagged],
		"channels": startWith[notifying],
		"unequal":  startWith[unequal],
		"mute":     startWith[mute],
		"deaf":     startWith[deaf],
	} {
		for _, config := range []*idempotent.Config{nil, resumes()} {
			p := panicOf(func() { start(newExecutor(t, memory.New(0), config)) })
			if config == nil {
				check.True(t, p == nil, name, p)
				continue
			}
			refused, _ := p.(*driver.ConfigError)
			if refused == nil {
				t.Fatalf("%s: the panic is %v", name, p)
			}
			check.Says(t, refused, "with Config.Resume: the request: ", name)
			check.Says(t, refused, "idempotent: Wrap with", name)
			check.Says(t, refused, "idempotent: WrapEffect with", name)
		}
	}
	for _, start := range []func(x *idempotent.Executor){startWith[order], startWith[*order], startWith[string], startWith[map[string]any], startWith[[]byte], startWith[any]} {
		start(newExecutor(t, memory.New(0), resumes()))
	}
}

// startWith wraps both kinds of handler for requests of type T.
func startWith[T any](x *idempotent.Executor) {
	key := func(T) (idempotent.Key, error) { return theKey, nil }
	p := panicOf(func() {
		idempotent.Wrap(x, key, func(context.Context, T) (string, error) { return "", nil })
	})
	q := panicOf(func() { idempotent.WrapEffect(x, key, func(context.Context, T) error { return nil }) })
	first, _ := p.(error)
	second, _ := q.(error)
	if err := errors.Join(first, second); err != nil {
		panic(&driver.ConfigError{Err: err})
	}
}

// A value may be worse than its type.
func TestRequestWithoutJSONIsRefusedBeforeItRuns(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, resumes())
	wrapped := idempotent.Wrap(x, func(any) (idempotent.Key, error) { return idempotent.Key{ID: "k"}, nil },
		func(ctx context.Context, _ any) (string, error) { return mustNotRun(t)(ctx) })
	_, err := wrapped(t.Context(), make(chan int))
	check.As[*idempotent.InvalidPayloadError](t, err)
	check.Says(t, err, "the request has no JSON")
	check.Equal(t, len(scan(t, store)), 0)
}

func scan(t testing.TB, store driver.Operable) []driver.Entry {
	t.Helper()
	page, err := store.Scan(t.Context(), driver.Filter{}, "")
	check.Must(t, err)
	return page.Entries
}

// What a request says is sealed for its record: one that is copied into another does not
// open there.
func TestRequestIsSealedForItsRecord(t *testing.T) {
	store := memory.New(0)
	config := sealing()
	config.Resume = true
	x := newExecutor(t, store, config)
	wrapOrders(x, func(context.Context) (string, error) {
		r := stored(t, store)
		check.False(t, bytes.Contains(r.Request, []byte("secret")))
		check.Equal(t, requestOf(t, x, r), theRequest)
		other := r
		other.ID += "2"
		_, err := adapter.Request(t.Context(), x, other)
		unavailable := check.As[*idempotent.ResumeError](t, err)
		check.Contains(t, unavailable.Error(), "its request is unavailable")
		check.Is(t, err, errForged)
		asResult := r
		asResult.Status, asResult.Data = driver.Completed, r.Request[1:]
		check.Must(t, store.Put(asResult))
		try(t.Context(), t, newExecutor(t, store, sealing()), mustNotRun(t)).is(idempotent.ErrResultUnavailable).is(errForged)
		check.Must(t, store.Put(r))
		return "", nil
	})(t.Context(), t).succeeded()
}

func TestRequestThatIsNotSealedRunsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		config := resumes()
		config.Sealer = noSealer{}
		for _, open := range []idempotent.StoreErrorPolicy{idempotent.FailClosed, idempotent.FailOpen} {
			config.OnStoreError = open
			r := wrapOrders(newExecutor(t, store, config), mustNotRun(t))(t.Context(), t).ended(idempotent.OutcomeFailed)
			failed := check.As[*idempotent.StoreError](t, r.err)
			check.False(t, failed.Executed)
			check.Equal(t, failed.Op, "store the request")
			recordIs(t, store, "no record")
		}
	})
}

// A large request goes where a large result does.
func TestLargeRequestIsInThePayloadStore(t *testing.T) {
	store, payloads := memory.New(0), newShelf()
	config := spilling(payloads)
	config.Resume = true
	x := newExecutor(t, store, config)
	wrapped := idempotent.Wrap(x, orderKey, func(context.Context, order) (string, error) {
		r := stored(t, store)
		check.True(t, len(r.Request) < 1000, len(r.Request))
		check.Equal(t, requestOf(t, x, r), `{"id":"k","note":"`+large+`"}`)
		payloads.kept = map[string][]byte{}
		_, err := adapter.Request(t.Context(), x, r)
		check.Is(t, err, idempotent.ErrResume)
		check.Is(t, err, errMissing)
		return "", nil
	})
	_, err := wrapped(t.Context(), order{ID: "k", Note: large})
	check.Must(t, err)
	check.Equal(t, payloads.puts, 1)
}

// It is made once, however often the claim is sent.
func TestRequestIsEncodedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, seals := memory.New(0), &backwards{}
		config := resumes()
		config.Sealer = seals
		x := newExecutor(t, hooked(store, onFirst(isCreate, delayed(2*time.Minute))), config) // it is removed, and made again
		wrapOrders(x, func(context.Context) (string, error) {
			check.Equal(t, seals.seals, 1)
			check.Equal(t, requestOf(t, x, stored(t, store)), theRequest)
			return "", nil
		})(t.Context(), t).succeeded()
	})
}

func TestUnreadableRequestHasAReason(t *testing.T) {
	x := newExecutor(t, memory.New(0), resumes())
	for _, request := range []string{"", "?", "x"} {
		_, err := adapter.Request(t.Context(), x, driver.Record{ID: "1", Request: []byte(request)})
		check.Says(t, err, "its request is unavailable: ", request)
	}
}

func TestRecordOfItsOwnNameIsNotResumed(t *testing.T) {
	x := newExecutor(t, memory.New(0), resumes())
	wrapped := idempotent.Wrap(x, func(order) (idempotent.Key, error) { return idempotent.Key{Record: "orders/1"}, nil },
		func(ctx context.Context, _ order) (string, error) { return mustNotRun(t)(ctx) })
	_, err := wrapped(t.Context(), theOrder)
	check.Is(t, err, idempotent.ErrInvalidKey)
	check.True(t, strings.Contains(err.Error(), "Config.Resume"))
}
