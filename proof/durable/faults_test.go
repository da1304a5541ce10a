package durable_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/proof/durable"
)

// fault is the fate of one checkpoint or write of the first execution.
type fault uint8

const (
	crashBefore fault = iota
	crashAfter
	notSent
	answerLost
	freeze
)

// striker lets a fault happen at one point: a checkpoint, or a write to the store.
type striker struct {
	fault fault
	at    int // from 1

	mu    sync.Mutex
	point int
	name  string // of the point, once it is reached
	thaw  chan struct{}
}

func (s *striker) strikes(ctx context.Context, name string) bool {
	if durable.ExecutionOf(ctx).Name != "first" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.point++; s.point != s.at {
		return false
	}
	s.name = name
	return true
}

func (s *striker) reached() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name
}

// pass returns lost if the point is not to be applied, or not to be answered.
func pass[T any](s *striker, ctx context.Context, name string, lost error, apply func() (T, error)) (T, error) {
	var none T
	if !s.strikes(ctx, name) {
		return apply()
	}
	switch s.fault {
	case crashBefore:
		durable.Crash(ctx)
	case crashAfter:
		_, _ = apply()
		durable.Crash(ctx)
	case notSent:
		return none, lost
	case answerLost:
		_, err := apply()
		return none, cmp.Or(err, lost)
	case freeze:
		<-s.thaw
	}
	return apply()
}

func (w *world) strike(f fault, at int) *striker {
	s := &striker{fault: f, at: at, thaw: make(chan struct{})}
	w.Pass = func(ctx context.Context, checkpoint string, apply func() (string, error)) (string, error) {
		return pass(s, ctx, checkpoint, errors.New("the service cannot be reached"), apply)
	}
	w.store.pass = func(ctx context.Context, what string, apply func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		type answer struct {
			r  driver.Record
			ok bool
		}
		a, err := pass(s, ctx, what, errNetwork, func() (answer, error) {
			r, ok, err := apply()
			return answer{r, ok}, err
		})
		return a.r, a.ok, err
	}
	return s
}

// everyPoint runs a test with the fault at each point that it reaches.
func everyPoint(run func(at int) (reached string)) (names []string) {
	for at := 1; ; at++ {
		name := run(at)
		if name == "" {
			return names
		}
		names = append(names, name)
	}
}

// Whatever is lost, and wherever the process dies, there is one effect. Only a
// step that has had its effect, and no success recorded, happens again.
func TestFaultAtEveryPointLeavesOneEffect(t *testing.T) {
	for f, name := range []string{"crash before", "crash after", "not sent", "answer lost"} {
		t.Run(name, func(t *testing.T) {
			names := everyPoint(func(at int) (reached string) {
				inMemory(t, func(w *world) { reached = oneEffectDespite(w, fault(f), at) })
				return reached
			})
			check.True(t, len(names) >= 7, "only the points", names)
		})
	}
}

// oneEffectDespite runs an execution and a duplicate, and returns the point that
// the fault struck.
func oneEffectDespite(w *world, f fault, at int) string {
	s := w.strike(f, at)
	w.deploy(w.pay)
	var result, other string
	var all sync.WaitGroup
	all.Go(func() { result = w.wantSuccess(w.deliver("first")) })
	all.Go(func() {
		time.Sleep(w.hour / 1000)
		other = w.wantSuccess(w.deliver("duplicate"))
	})
	all.Wait()
	late := w.wantSuccess(w.deliver("late"))
	if result != other || result != late {
		w.Errorf("%s: %s, %s, %s", s.reached(), result, other, late)
	}
	repeated := s.reached() == "STEP SUCCEEDED charge" && (f == crashBefore || f == notSent)
	w.wantEffects(map[bool]int{false: 1, true: 2}[repeated])
	if w.Failed() {
		w.Logf("after fault %d at point %d, %s", f, at, s.reached())
	}
	return s.reached()
}

// A frozen invocation shares the fence with its successor. When it thaws, the
// service refuses its checkpoints, and it writes nothing.
func TestThawedInvocationChangesNothing(t *testing.T) {
	for _, when := range []string{"while its successor is suspended", "after the end"} {
		t.Run(when, func(t *testing.T) {
			names := everyPoint(func(at int) (reached string) {
				inMemory(t, func(w *world) {
					s := w.strike(freeze, at)
					w.deploy(w.pay)
					first := w.Start("first", theOrder)
					done := make(chan string, 1)
					go func() { done <- w.run(first) }()
					time.Sleep(w.hour / 2)
					result := ""
					if when == "after the end" {
						result = <-done
					}
					before := w.paid()
					requests, _ := w.bank.effects()
					close(s.thaw)
					synctest.Wait()
					time.Sleep(time.Second)
					check.Deep(w, before, w.paid(), "at", s.reached())
					if n, _ := w.bank.effects(); n != requests {
						w.Errorf("at %s: %d more effects", s.reached(), n-requests)
					}
					duplicate := w.Start("duplicate", theOrder)
					if result == "" {
						if _, err := duplicate.Once(w.Context()); s.reached() != "" && before.Status == driver.InProgress && !errors.Is(err, idempotent.ErrInProgress) {
							w.Errorf("at %s: a duplicate got %v", s.reached(), err)
						}
						result = <-done
					}
					check.Equal(w, w.run(duplicate), result)
					if _, charged := w.bank.effects(); charged != 1 {
						w.Errorf("%d charges", charged)
					}
					reached = s.reached()
				})
				return reached
			})
			check.True(t, len(names) >= 7, "only the points", names)
		})
	}
}

// Its time is over, so its error says nothing about the execution.
func TestFailureOfAThawedInvocationReleasesNothing(t *testing.T) {
	for name, fail := range map[string]func() (string, error){
		"error": func() (string, error) { return "", errors.New("deadline exceeded") },
		"panic": func() (string, error) { panic("thawed") },
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(w *world) {
				thaw := make(chan struct{})
				var frozen atomic.Bool
				w.deploy(func(c *durable.Context, o order) (string, error) {
					if frozen.CompareAndSwap(false, true) {
						<-thaw
						return fail()
					}
					return w.pay(c, o)
				})
				first := w.Start("first", theOrder)
				done := make(chan string, 1)
				go func() { done <- w.run(first) }()
				time.Sleep(w.hour / 2)
				close(thaw)
				synctest.Wait()
				w.wantConflict(w.Start("duplicate", theOrder))
				check.Equal(w, w.wantSuccess(w.deliver("late")), <-done)
				w.wantEffects(1)
			})
		})
	}
}

// The claim that the store refuses was made by an earlier invocation.
func TestErrorOfTheStoreDoesNotRefundTheClaimOfAnExecution(t *testing.T) {
	everyStore(t, func(w *world) {
		w.deploy(w.pay)
		first := w.suspended()
		before, broken := w.paid(), true
		w.store.pass = func(_ context.Context, what string, apply func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if broken && what == "create" {
				return driver.Record{}, false, errNetwork
			}
			return apply()
		}
		if _, err := first.Once(w.Context()); !errors.Is(err, idempotent.ErrStore) {
			w.Errorf("got %v", err)
		}
		broken = false
		if after := w.paid(); !reflect.DeepEqual(before, after) {
			w.Fatalf("%+v became %+v", before, after)
		}
		w.wantConflict(w.Start("duplicate", theOrder)) // or the first execution would be repeated for ever
		w.run(first)
		w.wantEffects(1)
	})
}

// A key that stayed claimed after a failure would block it until the timeout.
func TestReleaseThatIsNotStoredIsRepeatedByTheService(t *testing.T) {
	inMemory(t, func(w *world) {
		w.deploy(func(c *durable.Context, o order) (string, error) {
			if _, err := w.pay(c, o); err != nil {
				return "", err
			}
			return "", errors.New("out of stock")
		})
		failures := 5
		w.store.pass = func(_ context.Context, what string, apply func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if failures > 0 && what == "change" {
				failures--
				return driver.Record{}, false, errNetwork
			}
			return apply()
		}
		w.wantFailure("first", "*errors.errorString")
		if r := w.paid(); r.Owner != "" {
			w.Errorf("it left %+v", r)
		}
		w.wantEffects(1)
	})
}

func TestResultOfAnExecutionThatIsTooLargeIsItsOwn(t *testing.T) {
	everyStore(t, tooLarge)
	// A process that keeps finished records decides as one that reads them.
	inMemory(t, func(w *world) {
		w.config.CacheEntries = 10
		tooLarge(w)
	})
}

func tooLarge(w *world) {
	ships := 0
	large := fmt.Sprintf("%2000d", 1)
	w.deploy(func(c *durable.Context, o order) (string, error) {
		if _, err := w.pay(c, o); err != nil {
			return "", err
		}
		ships++
		return large, nil
	})
	// The answer of the invocation that completes the record is lost.
	lost := false
	invoke := w.Invoke
	w.Invoke = func(ctx context.Context, request []byte) ([]byte, error) {
		answer, err := invoke(ctx, request)
		if err == nil && !lost && w.paid().Status == driver.Completed {
			lost = true
			return nil, errors.New("the connection to the runtime was lost")
		}
		return answer, err
	}
	if result := w.wantSuccess(w.deliver("first")); result != quoted(large) || !lost || ships != 2 {
		w.Errorf("%d bytes, lost: %v, the handler ended %d times", len(result), lost, ships)
	}
	w.wantFailure("duplicate", "ResultUnavailableError")
	w.wantEffects(1)
}
