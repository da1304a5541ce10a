package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/checked"
	"github.com/lambda-once/once/internal/wire"
)

const called = "first call"

func TestFirstCallLeavesNothing(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.claim("check#mine", time.Hour)
		before := s.all()
		for _, operation := range []string{"check", "pay"} {
			got := s.found(0, s.with("check", "--operation", operation)...)
			check.Equal(s, got[called].Verdict, fine, got)
			check.Equal(s, s.all(), before)
		}
		_, made := s.found(0, s.with("check", "--read-only")...)[called]
		check.False(s, made, "a check that reads only makes a call")
	})
}

// A check that is killed leaves a record that expires, and that nobody is shown.
func TestKilledCheckLeavesARecordThatIsPassedOver(t *testing.T) {
	onStores(t, func(s *storeScene) {
		d := s.held("check", func(d *dialog) { check.Must(s, d.cmd.Process.Kill()) })
		_ = d.cmd.Wait()
		page, err := s.records.Scan(s.Context(), driver.Filter{}, "")
		check.Must(s, err)
		if len(page.Entries) != 1 || !checked.Is(page.Entries[0].ID) || page.Entries[0].Expires.After(time.Now().Add(time.Hour)) {
			s.Fatalf("it has left %+v", page.Entries)
		}
		check.Equal(s, s.ok(s.with("list")...), "")
		check.Lacks(s, s.ok(s.with("stats", "--json")...), `"operation"`)
		check.Equal(s, s.found(0, s.with("check")...)[called].Verdict, fine)
	})
}

func TestInterruptedCheckDeletesItsRecord(t *testing.T) {
	onStores(t, func(s *storeScene) {
		d := s.held("check", func(d *dialog) {
			check.Must(s, d.cmd.Process.Signal(os.Interrupt))
			s.hear(d, "interrupted; deleting")
		})
		r := s.ended(d)
		check.Equal(s, r.code, codeFailed, r)
		check.True(s, strings.HasSuffix(r.err, "once: interrupted\n"), r.err)
		check.Lacks(s, r.out, called)
		check.Lacks(s, s.all(), checked.Name)
	})
}

// held starts a command, and does something before the first request after its claim is sent.
func (s *storeScene) held(command string, do func(*dialog)) *dialog {
	s.Helper()
	reached, done := make(chan struct{}), make(chan struct{})
	var once sync.Once
	flags, _ := s.behind(func(r *wire.Request) (*wire.Response, error) {
		if bytes.Contains(r.Body, []byte(checked.Name)) && strings.Contains(s.all(), checked.Name) {
			once.Do(func() { close(reached) })
			<-done
		}
		return r.Send()
	})
	d := s.start(append([]string{command, "--timeout", "10m"}, flags...)...)
	<-reached
	do(d)
	close(done)
	return d
}

// A lyingStore changes what one of its answers says.
type lyingStore struct {
	driver.Operable
	sent, at int
	lie      func(*driver.Record, *bool)
}

func (l *lyingStore) answer(r driver.Record, ok bool, err error) (driver.Record, bool, error) {
	if l.sent++; l.sent-1 == l.at {
		l.lie(&r, &ok)
	}
	return r, ok, err
}

func (l *lyingStore) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	return l.answer(l.Operable.Create(ctx, r, cutoff, with))
}

func (l *lyingStore) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	return l.answer(l.Operable.Change(ctx, f, c))
}

func (l *lyingStore) Get(ctx context.Context, id string) (driver.Record, error) {
	r, err := l.Operable.Get(ctx, id)
	r, _, err = l.answer(r, true, err)
	return r, err
}

// Each answer is compared: the finding is that of the request whose answer is not what it must be.
func TestFirstCallComparesEachAnswer(t *testing.T) {
	refuse := func(_ *driver.Record, ok *bool) { *ok = !*ok }
	plays := func(at int, lie func(*driver.Record, *bool)) (*firstCall, []move) {
		records := memory.New(0)
		f := &firstCall{id: checked.ID("check", "A"), found: &findings{waits: &waits{}}, store: &store{
			Operable: &lyingStore{Operable: records, at: at, lie: lie},
			repair:   func(context.Context, error) (verdict, string) { return wrong, "" },
		}}
		f.run(t.Context(), nil)
		left, err := records.Get(t.Context(), f.id)
		check.Must(t, err)
		check.Equal(t, left.Status, driver.Absent, "a record is left")
		return f, f.moves(t.Context(), time.Now())
	}
	f, moves := plays(-1, nil)
	check.Deep(t, f.found.all, []finding{{Check: called, Verdict: fine, Found: f.found.all[0].Found}})
	for at, m := range moves[:len(moves)-1] { // the last one is a read
		f, _ := plays(at, refuse)
		check.Deep(t, f.found.all, []finding{{Check: m.name, Verdict: wrong, Found: m.means}}, m.name)
	}
	for name, lie := range map[string]func(*driver.Record, *bool){
		"duplicate":       func(r *driver.Record, _ *bool) { r.Owner = "another" },
		"takeover":        func(r *driver.Record, _ *bool) { r.Request = nil },
		"second takeover": func(r *driver.Record, _ *bool) { r.Steps = nil },
		"fence":           func(r *driver.Record, _ *bool) { *r = driver.Record{} },
		"replay":          func(r *driver.Record, _ *bool) { r.Data = []byte("1") },
	} {
		f, _ := plays(slices.IndexFunc(moves, func(m move) bool { return m.name == name }), lie)
		check.Equal(t, len(f.found.all), 1, name)
		check.Equal(t, f.found.all[0].Check, name)
	}
}

// A role that is confined to its operations makes the call on keys of these.
func TestFirstCallIsOfTheOperation(t *testing.T) {
	s := newScene(t)
	keys := map[string]bool{}
	endpoint := s.wired(func(r *wire.Request) (*wire.Response, error) {
		if i := bytes.Index(r.Body, []byte(checked.Name)); i >= 0 {
			keys[string(r.Body[bytes.LastIndexByte(r.Body[:i], '"')+1:i])] = true
		}
		return r.Send()
	})
	s.found(0, "check", "--operation", "pay", "--endpoint", endpoint)
	check.Deep(t, keys, map[string]bool{"pay#": true})
}

// With --function, the role of the function may what the caller may not.
func TestDeniedCallBesideAFunctionIsTheCallers(t *testing.T) {
	denied := fmt.Errorf("the caller: %w", driver.ErrDenied)
	for is, of := range map[verdict]*table{warning: {function: &deployed{}}, wrong: {}} {
		got, toDo := of.repair(t.Context(), denied)
		check.Equal(t, got, is)
		check.Contains(t, toDo, "once policy")
	}
}
