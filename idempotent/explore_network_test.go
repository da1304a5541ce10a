//go:build !race

package idempotent

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/ids"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/form"
)

// network is a store at the other end of a network that a schedule controls:
// every call waits until the schedule decides what becomes of it.
type network struct {
	store ledger

	mu      sync.Mutex // never held while time passes
	pending []*message // sent, not yet arrived
	copies  []*message // whose sender has given up or has its answer
	stuck   []*message // whose sender was killed before the answer
	killed  map[int]bool
	cut     map[int]bool // whose commits no longer get through
	resting int          // who rests while the others run, or nobody
	moment  bool         // the next event that is played is a moment that passes
	closed  bool
	broken  []string // what the invariants said
	// takeovers of a record that had an owner.
	takeovers int
	// undoable are the steps that were stored and can be undone.
	undoable map[string]bool
	owners   map[string]int // the callers of tokens
	final    driver.Record  // when all was quiet
	resumes  bool           // all callers but the first only resume
}

const nobody = -1

type message struct {
	caller int
	what   string
	work   bool // the handler's effect, no call to the store
	apply  func() answer
	reply  chan answer
}

type answer struct {
	record driver.Record
	ok     bool
	err    error
}

var errLost = fmt.Errorf("the answer was lost: %w", driver.ErrUnavailable)

// line is the Store that one caller sees.
type line struct {
	net    *network
	caller int
}

func (l line) send(ctx context.Context, what string, work bool, apply func() answer) answer {
	m := &message{caller: l.caller, what: what, work: work, apply: apply, reply: make(chan answer, 1)}
	l.net.mu.Lock()
	if l.net.closed {
		l.net.mu.Unlock()
		return answer{err: context.Canceled}
	}
	if what == "commit" && l.net.cut[l.caller] {
		l.net.mu.Unlock()
		return answer{err: errLost}
	}
	l.net.pending = append(l.net.pending, m)
	l.net.mu.Unlock()
	select {
	case a := <-m.reply:
		return a
	case <-ctx.Done():
		l.net.mu.Lock()
		defer l.net.mu.Unlock()
		l.net.take(m)
		return answer{err: errLost}
	}
}

func (l line) Create(ctx context.Context, r driver.Record, over time.Time, with any) (driver.Record, bool, error) {
	l.net.own(r.Owner, l.caller)
	if l.net.resumes && l.caller > 0 && r.Status == driver.InProgress {
		l.net.breaks(fmt.Sprintf("%c resumes, and makes a record", 'A'+l.caller))
	}
	a := l.send(ctx, "create", false, func() answer {
		record, ok, err := l.net.store.Create(context.Background(), r, over, with)
		return answer{record, ok, err}
	})
	return a.record, a.ok, a.err
}

func (l line) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	l.net.own(c.Owner, l.caller)
	a := l.send(ctx, describe(f, c), false, func() answer {
		before, err := l.net.store.Get(context.Background(), f.ID)
		if err != nil {
			return answer{err: err}
		}
		record, ok, err := l.net.store.Change(context.Background(), f, c)
		if ok {
			l.net.check(before, f, c)
		}
		return answer{record, ok, err}
	})
	return a.record, a.ok, a.err
}

func (l line) Get(ctx context.Context, id string) (driver.Record, error) {
	a := l.send(ctx, "get", false, func() answer {
		record, err := l.net.store.Get(context.Background(), id)
		return answer{record: record, err: err}
	})
	return a.record, a.err
}

func (n *network) recorded(t *testing.T) driver.Record {
	t.Helper()
	r, err := n.store.Get(context.Background(), ids.RecordID("op", "", "k"))
	check.Must(t, err)
	return r
}

// own notes whose token it is.
func (n *network) own(token string, caller int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, known := n.owners[token]; !known {
		n.owners[token] = caller
	}
}

func describe(f driver.Fence, c driver.Change) string {
	switch {
	case c.Release != 0:
		return fmt.Sprintf("release %d", c.Release)
	case c.With != nil:
		return "commit"
	case len(c.Steps) > 0:
		for name := range c.Steps {
			return "step " + name
		}
	case c.Status != driver.Absent && c.Owner != "":
		return "adopt " + string(c.Status)
	case c.Status != driver.Absent:
		return string(c.Status)
	case c.Owner != "":
		return "take over"
	}
	return "extend"
}

// breaks notes that a promise is broken.
func (n *network) breaks(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = append(n.broken, what)
}

// check compares a write that was applied with the invariants.
func (n *network) check(before driver.Record, f driver.Fence, c driver.Change) {
	now := time.Now()
	if c.Owner != "" && before.Owner != "" {
		n.takeovers++
	}
	for name, stored := range c.Steps {
		if form.IsUndoable(stored) {
			n.undoable[name] = true
		}
	}
	if before.Status != driver.InProgress {
		n.broken = append(n.broken, fmt.Sprintf("a %s changed a %s record", describe(f, c), before.Status))
	}
	if c.Owner != "" && before.Owner != "" && c.Owner != before.Owner && !before.Lapsed(now) {
		n.broken = append(n.broken, "a live lease was taken over")
	}
	if c.Owner == "" && before.Owner != f.Owner {
		n.broken = append(n.broken, "a stale owner changed the record")
	}
}

// take removes a pending message.
func (n *network) take(m *message) {
	n.pending = slices.DeleteFunc(slices.Clone(n.pending), func(other *message) bool { return other == m })
}

// triesInVain reports whether somebody who is cut off still tries.
func (n *network) triesInVain() bool {
	for caller := range n.cut {
		if !n.killed[caller] {
			return true
		}
	}
	return false
}

// untilSent lets time pass until somebody sends something, or a minute.
func (n *network) untilSent() {
	for range 12_000 {
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
		n.mu.Lock()
		sent := len(n.pending) > 0 || !n.triesInVain()
		n.mu.Unlock()
		if sent {
			return
		}
	}
}

// moment is an option of played schedules alone.
const moment = "a moment passes"

// untilMoreIsSent lets time pass until somebody sends something, or five seconds.
func (n *network) untilMoreIsSent() {
	before := len(n.pending)
	for waited := 0; waited < 1000 && len(n.pending) <= before; waited++ {
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
	}
}

// wake ends a rest when all others have their answers, or were killed.
func (n *network) wake(results []result) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, r := range results {
		if i != n.resting && !r.done && !n.killed[i] {
			return
		}
	}
	n.resting = nobody
}

// awake reports whether somebody waits for the schedule.
func (n *network) awake() bool {
	return slices.ContainsFunc(n.pending, func(m *message) bool { return m.caller != n.resting })
}

// option is one thing that may happen next.
type option struct {
	name  string
	fault bool
	lapse bool
	do    func()
}

// options are all that may happen, in an order that depends on nothing but
// what happened before.
func (n *network) options(faults, lapses int, rests bool) []option {
	n.mu.Lock()
	defer n.mu.Unlock()
	sort.SliceStable(n.pending, func(i, j int) bool {
		a, b := n.pending[i], n.pending[j]
		if a.caller != b.caller {
			return a.caller < b.caller
		}
		return a.what < b.what // a heartbeat and a step
	})
	var all []option
	locked := func(do func()) func() {
		return func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			do()
		}
	}
	add := func(name string, do func()) { all = append(all, option{name: name, do: locked(do)}) }
	fault := func(name string, do func()) {
		if faults > 0 {
			all = append(all, option{name: name, fault: true, do: locked(do)})
		}
	}
	for _, m := range n.pending {
		if n.killed[m.caller] || m.caller == n.resting {
			continue
		}
		name := fmt.Sprintf("%c %s", 'A'+m.caller, m.what)
		add(name, func() { n.take(m); m.reply <- m.apply() })
		fault(name+", then killed", func() { n.take(m); n.stuck = append(n.stuck, m); n.killed[m.caller] = true; m.apply() })
		fault("killed before "+name, func() { n.killed[m.caller] = true })
		if m.work {
			continue
		}
		fault(name+", answer lost", func() { n.take(m); m.apply(); m.reply <- answer{err: errLost} })
		fault(name+", not sent", func() { n.take(m); m.reply <- answer{err: errLost} })
		fault(name+", delayed", func() { n.take(m); n.copies = append(n.copies, m); m.reply <- answer{err: errLost} })
		if m.what == "commit" {
			fault(name+", delayed, and no other gets through", func() {
				n.take(m)
				n.copies = append(n.copies, m)
				n.cut[m.caller] = true
				m.reply <- answer{err: errLost}
			})
		}
		fault(name+", duplicated", func() { n.take(m); n.copies = append(n.copies, m); m.reply <- m.apply() })
	}
	for i, m := range n.copies {
		add(fmt.Sprintf("a copy of %c %s lands", 'A'+m.caller, m.what), func() {
			n.copies = append(n.copies[:i:i], n.copies[i+1:]...)
			m.apply()
		})
	}
	if len(n.pending) == 0 && len(n.copies) > 0 && n.triesInVain() {
		all = append(all, option{name: "whoever is cut off gives up first", do: n.untilSent})
	}
	if n.moment {
		all = append(all, option{name: moment, do: n.untilMoreIsSent})
	}
	if lapses == 0 || !n.awake() {
		return all
	}
	lapse := func(name string, resting int, d time.Duration) {
		all = append(all, option{name: name, lapse: true, do: func() {
			time.Sleep(d)
			n.mu.Lock()
			defer n.mu.Unlock()
			n.resting = resting
		}})
	}
	lapse("a third of the lease passes", nobody, exploreLease/3+time.Second)
	lapse("the lease passes", nobody, exploreLease+3*time.Second)
	for _, m := range n.pending {
		if rests && m.work {
			lapse(fmt.Sprintf("the lease passes, and %c rests while the others go on", 'A'+m.caller), m.caller, exploreLease+3*time.Second)
		}
	}
	return all
}
