package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// limited is a store whose records have DynamoDB's limit.
func limited(t *testing.T, store *memory.Store) *proxy {
	return limitedTo(400<<10, t, store)
}

func limitedTo(limit int, t *testing.T, store *memory.Store) *proxy {
	const besideSteps = 500
	return hooked(store, on(isChange, func(w write) (driver.Record, bool, error) {
		size := besideSteps + len(stored(t, store).Request)
		for name, data := range stored(t, store).Steps {
			if _, replaced := w.change.Steps[name]; !replaced {
				size += len(name) + len(data) + 1
			}
		}
		for name, data := range w.change.Steps {
			size += len(name) + len(data) + 1
		}
		if len(w.change.Steps) > 0 && size > limit {
			return driver.Record{}, false, driver.ErrTooLarge
		}
		return w.send()
	}))
}

// large is a saga of one step whose result has a size.
type largeSaga struct {
	size   int
	undone int
	refuse int // so many of its undos err
	fail   error
}

func (l *largeSaga) receipt() string { return strings.Repeat("receipt 1; ", l.size/11+1)[:l.size] }

func (l *largeSaga) run(ctx context.Context) (string, error) {
	want := l.receipt()
	_, err := idempotent.SagaStep(ctx, "charge", returns(want), func(_ context.Context, result string) error {
		if result != want {
			return fmt.Errorf("undone with %d bytes %.20q…, want %d bytes %.20q…", len(result), result, l.size, want)
		}
		if l.refuse--; l.refuse >= 0 {
			return errors.New("not now")
		}
		l.undone++
		return nil
	})
	if err != nil {
		return "", err
	}
	return "", l.fail
}

// The request takes room that steps and their undoing need.
func TestSagaBesideALargeRequestIsUndoneOnce(t *testing.T) {
	long := idempotent.Permanent(errors.New(strings.Repeat("sold out; ", 200)))
	for size := 158_400; size < 159_200; size += 20 {
		saga := &largeSaga{size: size, fail: long}
		x := newExecutor(t, limited(t, memory.New(0)), resumes())
		handler := idempotent.Wrap(x, func(string) (idempotent.Key, error) { return theKey, nil }, func(ctx context.Context, _ string) (string, error) { return saga.run(ctx) })
		var err error
		for range 3 {
			_, err = handler(t.Context(), strings.Repeat("x", 250_000))
		}
		check.Is(t, err, idempotent.ErrReplayed, size)
		check.Equal(t, saga.undone, 1, size)
	}
}

// Whatever the size of its result, a step is undone once, and the call has
// failed: also if the first undo fails.
func TestSagaNearTheLimitIsUndoneOnce(t *testing.T) {
	long := idempotent.Permanent(errors.New(strings.Repeat("sold out; ", 1000)))
	for _, size := range []int{1000, 300_000, 403_000, 405_000, 406_000, 406_500} {
		for _, refuse := range []int{0, 1} {
			t.Run(fmt.Sprint(size, " bytes, refused ", refuse), func(t *testing.T) {
				store := memory.New(0)
				saga := &largeSaga{size: size, refuse: refuse, fail: long}
				for range 4 {
					try(t.Context(), t, newExecutor(t, limited(t, store), nil), saga.run).failed()
				}
				check.Equal(t, saga.undone, 1)
				check.Equal(t, stored(t, store).Status, driver.Failed)
			})
		}
	}
}

// The result takes a part of the compensation budget if it does not fit
// otherwise.
func TestSagaNearTheLimitKeepsItsResult(t *testing.T) {
	store := memory.New(0)
	saga := &largeSaga{size: 406_000, fail: errCrash}
	try(t.Context(), t, newExecutor(t, limited(t, store), nil), saga.run).fails(errCrash)
	if r := stored(t, store); len(r.Steps["charge"]) < saga.size || saga.undone > 0 {
		t.Errorf("%d bytes are kept, and it is undone %d times", len(r.Steps["charge"]), saga.undone)
	}
}

// The record has no room for the result beside a note that the step is undone.
func TestSagaThatDoesNotFitIsUndoneAtOnce(t *testing.T) {
	for _, size := range []int{408_900, 409_300, 2_000_000} {
		store := memory.New(0)
		saga := &largeSaga{size: size}
		_, _, err := do(t.Context(), newExecutor(t, limited(t, store), nil), saga.run)
		check.As[*idempotent.ResultUnavailableError](t, err, size)
		check.Equal(t, saga.undone, 1, size)
		check.Equal(t, stored(t, store).Status, driver.Failed, size)
	}
}

func TestSagaResultThatDoesNotFitIsSpilled(t *testing.T) {
	store, payloads := memory.New(0), newShelf()
	config := &idempotent.Config{Payloads: payloads}
	saga := &largeSaga{size: 199_700, refuse: 1, fail: soldOut()}
	for range 2 {
		try(t.Context(), t, newExecutor(t, limitedTo(200_000, t, store), config), saga.run).failed()
	}
	check.Equal(t, saga.undone, 1)
	check.Equal(t, payloads.puts, 1)
	check.Equal(t, stored(t, store).Status, driver.Failed)
}

// fill fills the record to the brim with steps that need not be undone.
func fill(ctx context.Context) error {
	for i := range 300 {
		size := 500
		if i < 2 {
			size = 133_000
		}
		_, err := idempotent.Step(ctx, fmt.Sprint("read ", i), returns(strings.Repeat("x", size)))
		if err != nil && !errors.Is(err, idempotent.ErrResultUnavailable) {
			return err
		}
	}
	return nil
}

// charges are steps with long names, whose undos are counted. One undo errs.
type charges struct{ done, undone, refuseAt int }

func (c *charges) run(ctx context.Context, n, length int) error {
	for i := range n {
		_, err := idempotent.SagaStep(ctx, fmt.Sprintf("%0*d", length, i), func(context.Context) (string, error) { c.done++; return "receipt", nil },
			func(context.Context, string) error {
				if c.undone == c.refuseAt {
					c.refuseAt = -1
					return errors.New("not now")
				}
				c.undone++
				return nil
			})
		if err != nil {
			return err
		}
	}
	return nil
}

func TestStepsLeaveRoomForUndoing(t *testing.T) {
	store, c := memory.New(0), charges{refuseAt: 15}
	for range 3 {
		try(t.Context(), t, newExecutor(t, limited(t, store), nil), func(ctx context.Context) (string, error) {
			return "", errors.Join(c.run(ctx, 30, 100), fill(ctx), soldOut())
		}).failed()
	}
	check.Equal(t, c.done, 30)
	check.Equal(t, c.undone, 30)
	check.Equal(t, stored(t, store).Status, driver.Failed)
}

// The last step with room for its notes is not the last that is undone.
func TestSagaInAFullRecordIsUndone(t *testing.T) {
	store, c := memory.New(0), charges{refuseAt: -1}
	try(t.Context(), t, newExecutor(t, limited(t, store), nil), func(ctx context.Context) (string, error) {
		check.Nil(t, fill(ctx))
		return "", c.run(ctx, 50, 200)
	}).is(idempotent.ErrResultUnavailable)
	check.Differ(t, c.done, 0)
	check.Equal(t, c.done, c.undone)
	check.Equal(t, stored(t, store).Status, driver.Failed)
}

// A full record has no room for notes. The note of an undone step replaces its
// result.
func TestUndoneStepMakesRoomForItsOwnNote(t *testing.T) {
	store := memory.New(0)
	saga := &largeSaga{size: 408_900}
	err := store.Put(driver.Record{ID: recordID(t, theKey), Status: driver.InProgress, Attempt: 1, Lease: driver.LeaseEnded,
		Steps: map[string][]byte{
			"charge":   []byte(`~="` + saga.receipt() + `"`),
			":failure": []byte(`={"type":"soldOutError","message":"sold out","steps":["charge"]}` + strings.Repeat(" ", 110)),
		}})
	check.Must(t, err)
	for range 4 {
		try(t.Context(), t, newExecutor(t, limited(t, store), nil), saga.run).failed()
	}
	check.Equal(t, saga.undone, 1)
	check.Equal(t, stored(t, store).Status, driver.Failed)
}

// The write of the largest step lands last.
func TestStepsAtTheSameTimeLeaveRoomForUndoing(t *testing.T) {
	for _, size := range []int{380_000, 394_000} {
		bubble(t, fmt.Sprint(size), func(t *testing.T) {
			store, c, large := memory.New(0), charges{refuseAt: -1}, &largeSaga{size: size}
			p := limited(t, store)
			limit, free := p.on, make(chan struct{})
			p.on = func(w write) (driver.Record, bool, error) {
				if _, is := w.change.Steps["charge"]; is {
					<-free
				}
				return limit(w)
			}
			try(t.Context(), t, newExecutor(t, p, &idempotent.Config{Lease: time.Hour}), func(ctx context.Context) (string, error) {
				var all sync.WaitGroup
				all.Go(func() { _, _ = large.run(ctx) })
				synctest.Wait()
				all.Go(func() { _ = c.run(ctx, 30, 240) })
				synctest.Wait()
				close(free)
				all.Wait()
				return "", soldOut()
			}).failed()
			check.Equal(t, c.done, c.undone)
			check.Equal(t, large.undone, 1)
			check.Equal(t, stored(t, store).Status, driver.Failed)
		})
	}
}
