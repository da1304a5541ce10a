package handlers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// An invocation stops in time, and the next one continues behind the page where it
// stopped. The rest of that page is resumed after the pages behind it.
func TestResumeContinuesInTheNextInvocation(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	inBubble(t, idempotent.Config{}, nil, func(t *testing.T, c *checkout) {
		paged := &pagedStore{Store: c.store}
		x := newExecutor(t, paged, &idempotent.Config{Resume: true, Margin: 10 * time.Second})
		resume := handlers.Resume(handlers.Resumed(x, keyOfOrder, c.run), &handlers.ResumeOptions{Concurrency: 1})
		ids := []string{"o1", "o2", "o3", "o4", "o5"}
		c.abandon(t, "reserve", ids...)
		c.charging = func(context.Context, string) error { time.Sleep(10 * time.Second); return nil }
		invoke := func() handlers.ResumeReport {
			report, err := resume(within(t, 36*time.Second), handlers.ResumeEvent{})
			check.Must(t, err)
			return report
		}
		// The two records of the first page, and one of the second.
		check.Equal(t, invoke(), handlers.ResumeReport{Operation: "create-payment", Resumed: 3})
		paged.scans = nil
		check.Equal(t, invoke(), handlers.ResumeReport{Operation: "create-payment", Resumed: 1, Complete: true})
		check.Differ(t, paged.scans[0], "") // it goes on with the third
		check.Equal(t, invoke(), handlers.ResumeReport{Operation: "create-payment", Resumed: 1, Complete: true})
		check.Equal(t, invoke(), handlers.ResumeReport{Operation: "create-payment", Complete: true})
		check.Equal(t, paged.scans[len(paged.scans)-1], "") // from the beginning again
		c.did(t, bought(ids...))
		report, err := resume(within(t, 5*time.Second), handlers.ResumeEvent{IDs: []string{"create-payment#o9"}})
		check.Must(t, err)
		check.False(t, report.Complete) // there was no time to look
	})
}

func TestPanicOfOneRecordDoesNotEndTheRest(t *testing.T) {
	inBubble(t, idempotent.Config{}, nil, func(t *testing.T, c *checkout) {
		c.abandon(t, "reserve", "o1", "o2", "o3")
		c.charging = func(_ context.Context, id string) error {
			if id == "o2" {
				panic("no such card")
			}
			return nil
		}
		c.round(t, handlers.ResumeReport{Resumed: 2, Failed: 1, Oldest: 120})
		c.did(t, map[string]int{"reserve o1": 1, "charge o1": 1, "mail o1": 1, "reserve o2": 1, "reserve o3": 1, "charge o3": 1, "mail o3": 1})
	})
}

// The alarm is about the oldest record that stays behind, and silent when there is none.
func TestResumeObserverReceivesTheOldestAge(t *testing.T) {
	inBubble(t, idempotent.Config{}, nil, func(t *testing.T, c *checkout) {
		oldest, again := &abandonedObserver{}, &abandonedObserver{}
		x := newExecutor(t, c.store, &idempotent.Config{Resume: true, Observer: idempotent.Observers{oldest, idempotent.Observers{again}}})
		resume := handlers.Resume(handlers.Resumed(x, keyOfOrder, c.run), nil)
		c.abandon(t, "reserve", "o1")
		c.abandon(t, "reserve", "o2")
		c.charging = func(context.Context, string) error { return errOutOfStock }
		report, err := resume(t.Context(), handlers.ResumeEvent{})
		check.Must(t, err)
		check.Equal(t, report, handlers.ResumeReport{Operation: "create-payment", Failed: 2, Oldest: 240, Complete: true})
		c.charging = nil
		time.Sleep(time.Hour)
		_, err = resume(t.Context(), handlers.ResumeEvent{IDs: []string{c.idOf("o1")}}) // says nothing of the rest
		check.Must(t, err)
		report, err = resume(t.Context(), handlers.ResumeEvent{})
		check.Must(t, err)
		check.Equal(t, report, handlers.ResumeReport{Operation: "create-payment", Resumed: 1, Complete: true})
		check.Slice(t, oldest.ages, []time.Duration{240 * time.Second, 0})
		check.Slice(t, again.ages, oldest.ages)
	})
}

// Without an answer of the store nobody knows what was left behind.
func TestResumeReturnsTheErrorOfItsStore(t *testing.T) {
	inBubble(t, idempotent.Config{}, nil, func(t *testing.T, c *checkout) {
		oldest := &abandonedObserver{}
		paged := &pagedStore{Store: c.store}
		x := newExecutor(t, paged, &idempotent.Config{Resume: true, Observer: oldest})
		resume := handlers.Resume(handlers.Resumed(x, keyOfOrder, c.run), nil)
		c.abandon(t, "reserve", "o1", "o2")
		down := fmt.Errorf("down: %w", driver.ErrUnavailable)
		paged.failing = down
		report, err := resume(t.Context(), handlers.ResumeEvent{})
		check.Is(t, err, down)
		check.False(t, report.Complete)
		paged.failing, paged.unread = nil, map[string]error{c.idOf("o1"): down}
		report, err = resume(t.Context(), handlers.ResumeEvent{})
		check.Is(t, err, down)
		check.Equal(t, report, handlers.ResumeReport{Operation: "create-payment", Resumed: 1})
		check.Equal(t, len(oldest.ages), 0)
		paged.unread = nil
		report, err = resume(t.Context(), handlers.ResumeEvent{})
		check.Must(t, err)
		check.Equal(t, report, handlers.ResumeReport{Operation: "create-payment", Resumed: 1, Complete: true})
	})
}
