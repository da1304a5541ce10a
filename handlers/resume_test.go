package handlers_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/checked"
)

// inBubble runs a test with a checkout on a store of its own, in a bubble.
func inBubble(t *testing.T, config idempotent.Config, o *handlers.ResumeOptions, test func(t *testing.T, c *checkout)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newCheckout(t, memory.New(0), config, o)) })
}

// bought are the effects of these orders, each of them once.
func bought(ids ...string) map[string]int {
	effects := map[string]int{}
	for _, id := range ids {
		effects["reserve "+id], effects["charge "+id], effects["mail "+id] = 1, 1, 1
	}
	return effects
}

func TestResumeFinishesAbandonedWork(t *testing.T) {
	inBubble(t, idempotent.Config{}, nil, func(t *testing.T, c *checkout) {
		c.abandon(t, "reserve", "o1", "o2")
		c.abandon(t, "charge", "o3")
		c.round(t, handlers.ResumeReport{Resumed: 3})
		c.did(t, bought("o1", "o2", "o3"))
		check.Equal(t, c.outcomes(), "takeover, takeover, takeover")
		for _, id := range []string{"o1", "o2", "o3"} {
			result, err := c.handler(t.Context(), order{ID: id})
			check.Must(t, err)
			check.Equal(t, result, "bought "+id)
		}
		c.round(t, handlers.ResumeReport{})
		c.did(t, bought("o1", "o2", "o3"))
	})
}

func TestResumeUndoesASagaThatFailsForGood(t *testing.T) {
	inBubble(t, idempotent.Config{}, nil, func(t *testing.T, c *checkout) {
		c.abandon(t, "reserve", "o1")
		c.charging = func(context.Context, string) error { return idempotent.Permanent(errOutOfStock) }
		c.round(t, handlers.ResumeReport{Resumed: 1})
		c.did(t, map[string]int{"reserve o1": 1, "cancel o1": 1})
		c.round(t, handlers.ResumeReport{})
	})
}

// A handler that still runs, or has run a moment ago by some clock, is none of Resume's.
func TestResumeLeavesRunningWork(t *testing.T) {
	inBubble(t, idempotent.Config{ClockSkew: time.Minute}, nil, func(t *testing.T, c *checkout) {
		proceed := make(chan struct{})
		c.charging = func(context.Context, string) error { <-proceed; return nil }
		go func() { _, _ = c.handler(t.Context(), order{ID: "o1"}) }()
		synctest.Wait()
		page, err := c.store.Scan(t.Context(), driver.Filter{}, "")
		check.Must(t, err)
		running := page.Entries[0].ID
		c.round(t, handlers.ResumeReport{})
		c.round(t, handlers.ResumeReport{}, running)
		check.Equal(t, c.outcomes(), "")
		close(proceed)
		synctest.Wait()
		c.did(t, bought("o1"))

		c.charging = nil
		c.abandon(t, "reserve", "o2") // a minute behind its lease
		c.round(t, handlers.ResumeReport{})
		c.round(t, handlers.ResumeReport{}, c.idOf("o2"))
		check.Equal(t, c.outcomes(), "")
		time.Sleep(time.Second)
		c.round(t, handlers.ResumeReport{Resumed: 1})
	})
}

// The caller of a released record has received its error, and may repeat the call. With
// finished steps that waits no longer than ReleasedAfter.
func TestResumeWaitsForTheCallersOfReleasedRecords(t *testing.T) {
	for after, wait := range map[time.Duration]time.Duration{0: 15 * time.Minute, time.Hour: time.Hour} {
		inBubble(t, idempotent.Config{}, &handlers.ResumeOptions{ReleasedAfter: after}, func(t *testing.T, c *checkout) {
			c.charging = func(context.Context, string) error { return errOutOfStock }
			_, err := c.handler(t.Context(), order{ID: "o1"})
			check.Is(t, err, errOutOfStock)
			c.clear()
			c.round(t, handlers.ResumeReport{})
			time.Sleep(wait)
			c.round(t, handlers.ResumeReport{})
			check.Equal(t, c.outcomes(), "")
			time.Sleep(time.Second)
			c.round(t, handlers.ResumeReport{Failed: 1, Oldest: int64(wait.Seconds()) + 1})
			c.charging = nil
			c.round(t, handlers.ResumeReport{Resumed: 1})
			c.did(t, bought("o1"))
		})
	}
	t.Run("no steps", func(t *testing.T) {
		inBubble(t, idempotent.Config{MaxAttempts: 5}, nil, func(t *testing.T, c *checkout) {
			plain := idempotent.Wrap(c.x, keyOfOrder, func(_ context.Context, o order) (string, error) {
				return "", errors.Join(c.effect(t.Context(), "tried", o.ID), errOutOfStock)
			})
			_, err := plain(t.Context(), order{ID: "o1"})
			check.Is(t, err, errOutOfStock)
			page, err := c.store.Scan(t.Context(), driver.Filter{}, "")
			check.Must(t, err)
			check.Equal(t, len(page.Entries), 1)
			time.Sleep(time.Hour)
			c.round(t, handlers.ResumeReport{})
			c.did(t, map[string]int{"tried o1": 1})
			c.round(t, handlers.ResumeReport{Resumed: 1}, page.Entries[0].ID) // a person has asked for it
		})
	})
}

func TestResumeOfNamedRecords(t *testing.T) {
	inBubble(t, idempotent.Config{}, nil, func(t *testing.T, c *checkout) {
		c.abandon(t, "charge", "o1", "o2")
		c.round(t, handlers.ResumeReport{Resumed: 1}, c.idOf("o2"), "create-payment#none")
		c.did(t, map[string]int{"reserve o1": 1, "charge o1": 1, "reserve o2": 1, "charge o2": 1, "mail o2": 1})
		c.round(t, handlers.ResumeReport{}, c.idOf("o2")) // is finished
		c.round(t, handlers.ResumeReport{Resumed: 1})
	})
}

// A record that waits for a person is counted, and stays as it is. Nobody repeats its call,
// so it is the resumption that rings its alarm.
func TestResumeLeavesWhatWaitsForAPerson(t *testing.T) {
	for outcome, config := range map[idempotent.Outcome]idempotent.Config{
		idempotent.OutcomeUnknown:   {MaxAttempts: 1},
		idempotent.OutcomeForgotten: {ProviderMemory: 2 * time.Minute},
	} {
		t.Run(string(outcome), func(t *testing.T) {
			inBubble(t, config, nil, func(t *testing.T, c *checkout) {
				c.abandon(t, "reserve", "o1")
				before, err := c.store.Get(t.Context(), c.idOf("o1"))
				check.Must(t, err)
				lines := logged(t, func() { c.round(t, handlers.ResumeReport{Waiting: 1}) })
				check.Equal(t, len(lines), 0)
				after, err := c.store.Get(t.Context(), c.idOf("o1"))
				check.Must(t, err)
				check.Deep(t, after, before)
				check.Equal(t, c.outcomes(), string(outcome))
				c.did(t, map[string]int{"reserve o1": 1})
			})
		})
	}
}

// What cannot be resumed is named, each time, and nothing of it runs.
func TestResumeNamesWhatItCannotResume(t *testing.T) {
	for name, test := range map[string]struct {
		change func(r *driver.Record)
		why    string
	}{
		"decode":     {func(r *driver.Record) { r.Request = append(r.Request[:1:1], `{"id":7}`...) }, "does not decode into the type of today"},
		"no request": {func(r *driver.Record) { r.Request = nil }, "without Config.Resume"},
		"key":        {func(r *driver.Record) { r.Request = append(r.Request[:1:1], `{"id":"other"}`...) }, "is another one today"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, idempotent.Config{}, nil, func(t *testing.T, c *checkout) {
				c.abandon(t, "reserve", "o1", "o2")
				record := c.died["o1"]
				test.change(&record)
				check.Must(t, c.store.Put(record))
				lines := logged(t, func() { c.round(t, handlers.ResumeReport{Resumed: 1, Left: 1, Oldest: 120}) })
				check.Equal(t, len(lines), 1)
				isLine(t, lines[0], map[string]any{"level": "ERROR", "operation": "create-payment", "record_id": c.idOf("o1")})
				check.Contains(t, fmt.Sprint(lines[0]["error"]), test.why)
				c.did(t, map[string]int{"reserve o1": 1, "reserve o2": 1, "charge o2": 1, "mail o2": 1})
			})
		})
	}
}

// The records of other operations in the table are not looked at, nor is the one that a
// check has left that was killed.
func TestResumeIsOfOneOperation(t *testing.T) {
	inBubble(t, idempotent.Config{}, nil, func(t *testing.T, c *checkout) {
		c.abandon(t, "reserve", "o1")
		other, err := idempotent.New("create-payment-2", c.store, &idempotent.Config{Resume: true})
		check.Must(t, err)
		report, err := handlers.Resume(handlers.Resumed(other, keyOfOrder, c.run), nil)(t.Context(), handlers.ResumeEvent{})
		check.Must(t, err)
		check.Equal(t, report, handlers.ResumeReport{Operation: "create-payment-2", Complete: true})
		record := c.died["o1"]
		record.ID = strings.Replace(record.ID, "create-payment#", "create-payment-2#", 1)
		check.Must(t, c.store.Put(record))
		record.ID = checked.ID("create-payment", rand.Text())
		check.Must(t, c.store.Put(record))
		c.round(t, handlers.ResumeReport{Resumed: 1})
	})
}

// Two resumers read the same records before one of them takes each over. Each has one owner,
// and the other resumer does not report it.
func TestTwoResumersRunEachEffectOnce(t *testing.T) {
	inBubble(t, idempotent.Config{}, nil, func(t *testing.T, c *checkout) {
		var ids []string
		for i := range 20 {
			ids = append(ids, fmt.Sprint("o", i))
		}
		c.abandon(t, "reserve", ids...)
		c.charging = func(context.Context, string) error { time.Sleep(time.Second); return nil }
		read := func(o order) (idempotent.Key, error) { time.Sleep(time.Second); return keyOfOrder(o) }
		resumed := make(chan int)
		for range 2 {
			resume := handlers.Resume(handlers.Resumed(c.x, read, c.run), &handlers.ResumeOptions{Concurrency: len(ids)})
			go func() {
				report, err := resume(t.Context(), handlers.ResumeEvent{})
				check.Nil(t, err)
				check.Equal(t, report.Failed+report.Left+report.Waiting, 0)
				resumed <- report.Resumed
			}()
		}
		check.Equal(t, <-resumed+<-resumed, 20)
		c.did(t, bought(ids...))
		c.round(t, handlers.ResumeReport{})
	})
}

func TestResumeRunsAsManyAtOnceAsItMay(t *testing.T) {
	for concurrency, want := range map[int]int32{0: 4, 2: 2} {
		inBubble(t, idempotent.Config{}, &handlers.ResumeOptions{Concurrency: concurrency}, func(t *testing.T, c *checkout) {
			c.abandon(t, "reserve", "o1", "o2", "o3", "o4", "o5", "o6")
			var now, most atomic.Int32
			c.charging = func(context.Context, string) error {
				if n := now.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(time.Second)
				now.Add(-1)
				return nil
			}
			c.round(t, handlers.ResumeReport{Resumed: 6})
			check.Equal(t, most.Load(), want)
		})
	}
}

// readOnly is a store without the methods of an operator.
type readOnly struct{ driver.Store }

func TestResumeMistakes(t *testing.T) {
	handler := func(context.Context, order) (string, error) { return "", nil }
	resumes := &idempotent.Config{Resume: true}
	x := newExecutor(t, memory.New(0), resumes)
	for name, test := range map[string]struct {
		x        *idempotent.Executor
		handler  func(context.Context, order) (string, error)
		o        *handlers.ResumeOptions
		mistakes []string
	}{
		"no requests": {newExecutor(t, memory.New(0), nil), handler, nil, []string{"Config.Resume is not set"}},
		"store":       {newExecutor(t, readOnly{memory.New(0)}, resumes), handler, nil, []string{"it is no driver.Operable"}},
		"negative":    {x, handler, &handlers.ResumeOptions{Concurrency: -1, ReleasedAfter: -time.Hour}, []string{"Concurrency is -1", "ReleasedAfter is -1h0m0s"}},
		"unit":        {x, handler, &handlers.ResumeOptions{ReleasedAfter: 15}, []string{"ReleasedAfter is 15ns"}},
	} {
		t.Run(name, func(t *testing.T) {
			handlertest.CheckMistakes(t, func() { handlers.Resume(handlers.Resumed(test.x, keyOfOrder, test.handler), test.o) }, test.mistakes...)
		})
	}
	t.Run("nothing", func(t *testing.T) {
		handlertest.CheckMistakes(t, func() { handlers.Resumed[order, string](nil, nil, nil) }, "the executor is nil", "the key function is nil", "the handler is nil")
		handlertest.CheckMistakes(t, func() { handlers.Resume(handlers.Resumable{}, nil) }, "the Resumable is the zero value")
	})
	t.Run("disabled", func(t *testing.T) {
		t.Setenv("ONCE_DISABLED", "1")
		handlertest.CheckMistakes(t, func() {
			handlers.Resume(handlers.Resumed(newExecutor(t, memory.New(0), resumes), keyOfOrder, handler), nil)
		}, "ONCE_DISABLED is set")
	})
	t.Run("batch", func(t *testing.T) {
		handlertest.CheckMistakes(t, func() {
			handlers.SQS(x, nil, func(context.Context, handlers.SQSMessage[order]) error { return nil }, nil)
		}, "its source repeats what was left behind")
	})
}
