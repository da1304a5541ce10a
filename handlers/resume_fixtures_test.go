package handlers_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// checkout is a saga whose callers go away: it reserves, charges and sends a mail.
type checkout struct {
	store   *memory.Store
	x       *idempotent.Executor
	handler func(context.Context, order) (string, error)
	resume  func(context.Context, handlers.ResumeEvent) (handlers.ResumeReport, error)

	mu       sync.Mutex
	effects  map[string]int
	died     map[string]driver.Record // the records of processes that died, as they were then
	events   []idempotent.Event
	behind   map[string]string                          // the effect behind which the process of an order dies
	charging func(ctx context.Context, id string) error // the way of a charge
}

const resumeLease = time.Minute

// newCheckout has a Lease, as the processes that die are those of one test.
func newCheckout(t *testing.T, store *memory.Store, config idempotent.Config, o *handlers.ResumeOptions) *checkout {
	t.Helper()
	c := &checkout{store: store, effects: map[string]int{}, died: map[string]driver.Record{}, behind: map[string]string{}}
	config.Resume, config.Lease = true, resumeLease
	config.Observer = handlertest.Observer(func(e idempotent.Event) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.events = append(c.events, e)
	})
	c.x = newExecutor(t, store, &config)
	c.handler = idempotent.Wrap(c.x, keyOfOrder, c.run)
	c.resume = handlers.Resume(handlers.Resumed(c.x, keyOfOrder, c.run), o)
	return c
}

func keyOfOrder(o order) (idempotent.Key, error) { return idempotent.Key{ID: o.ID}, nil }

var errDied = errors.New("the process has died")

func (c *checkout) run(ctx context.Context, o order) (string, error) {
	if err := c.die(ctx, "start", o.ID); err != nil {
		return "", err
	}
	_, err := idempotent.SagaStep(ctx, "reserve", func(context.Context) (string, error) {
		return "r-" + o.ID, c.effect(ctx, "reserve", o.ID)
	}, func(context.Context, string) error { return c.effect(ctx, "cancel", o.ID) })
	if err == nil {
		err = c.die(ctx, "reserve", o.ID)
	}
	if err != nil {
		return "", err
	}
	_, err = idempotent.Step(ctx, "charge", func(ctx context.Context) (string, error) {
		if c.charging != nil {
			if err := c.charging(ctx, o.ID); err != nil {
				return "", err
			}
		}
		return "c-" + o.ID, c.effect(ctx, "charge", o.ID)
	})
	if err == nil {
		err = c.die(ctx, "charge", o.ID)
	}
	if err != nil {
		return "", err
	}
	return "bought " + o.ID, c.effect(ctx, "mail", o.ID)
}

func (c *checkout) effect(_ context.Context, name, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.effects[name+" "+id]++
	return nil
}

// die keeps the record as it is when the process dies.
func (c *checkout) die(ctx context.Context, step, id string) error {
	c.mu.Lock()
	dies := c.behind[id] == step
	if dies {
		delete(c.behind, id)
	}
	c.mu.Unlock()
	if !dies {
		return nil
	}
	claim, _ := idempotent.FromContext(ctx)
	record, err := c.store.Get(ctx, claim.RecordID)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.died[id] = record
	return errors.Join(errDied, err)
}

// abandon has the callers of these orders go away, and their processes die behind a step,
// or at the start.
// Their leases have then lapsed.
func (c *checkout) abandon(t *testing.T, step string, ids ...string) {
	t.Helper()
	for _, id := range ids {
		c.mu.Lock()
		c.behind[id] = step
		c.mu.Unlock()
		_, err := c.handler(t.Context(), order{ID: id})
		check.Is(t, err, errDied)
		check.Must(t, c.store.Put(c.died[id]))
	}
	time.Sleep(2 * resumeLease)
	c.clear()
}

// clear forgets the events.
func (c *checkout) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = nil
}

// round invokes the function of Resume, which must report this.
func (c *checkout) round(t *testing.T, want handlers.ResumeReport, ids ...string) {
	t.Helper()
	got, err := c.resume(t.Context(), handlers.ResumeEvent{IDs: ids})
	check.Must(t, err)
	want.Operation, want.Complete = c.x.Operation(), true
	check.Equal(t, got, want)
}

// idOf returns the id of the record of an order whose process has died.
func (c *checkout) idOf(id string) string { return c.died[id].ID }

func (c *checkout) did(t *testing.T, want map[string]int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	check.Deep(t, c.effects, want)
}

// outcomes are those of the events since the last clear.
func (c *checkout) outcomes() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, e := range c.events {
		names = append(names, string(e.Outcome))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// pagedStore is a store whose scans have pages of two records.
type pagedStore struct {
	*memory.Store
	scans   []string // their positions
	failing error    // of scans
	unread  map[string]error
}

func (p *pagedStore) Get(ctx context.Context, id string) (driver.Record, error) {
	if err := p.unread[id]; err != nil {
		return driver.Record{}, err
	}
	return p.Store.Get(ctx, id)
}

func (p *pagedStore) Scan(ctx context.Context, f driver.Filter, after string) (driver.Page, error) {
	p.scans = append(p.scans, after)
	if p.failing != nil {
		return driver.Page{}, p.failing
	}
	page, err := p.Store.Scan(ctx, f, "")
	page.Entries = slices.DeleteFunc(page.Entries, func(e driver.Entry) bool { return e.ID <= after })
	if len(page.Entries) > 2 {
		page.Entries = page.Entries[:2]
		page.Next = page.Entries[1].ID
	}
	return page, err
}

// abandonedObserver is a ResumeObserver.
type abandonedObserver struct{ ages []time.Duration }

func (o *abandonedObserver) Observe(context.Context, idempotent.Event) {}

func (o *abandonedObserver) ObserveAbandoned(_ context.Context, operation string, oldest time.Duration) {
	if operation == "create-payment" {
		o.ages = append(o.ages, oldest)
	}
}
