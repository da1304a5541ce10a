package checks

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/checked"
)

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
		f := &firstCall{id: checked.ID("check", "A"), found: &Findings{Waits: &store.Waits{}},
			Store:  &store.Store{Operable: &lyingStore{Operable: records, at: at, lie: lie}},
			repair: func(context.Context, error) (Verdict, string) { return Wrong, "" },
		}
		f.run(t.Context(), nil)
		left, err := records.Get(t.Context(), f.id)
		check.Must(t, err)
		check.Equal(t, left.Status, driver.Absent, "a record is left")
		return f, f.moves(t.Context(), time.Now())
	}
	f, moves := plays(-1, nil)
	check.Deep(t, f.found.All, []Finding{{Check: "first call", Verdict: Fine, Found: f.found.All[0].Found}})
	for at, m := range moves[:len(moves)-1] { // the last one is a read
		f, _ := plays(at, refuse)
		check.Deep(t, f.found.All, []Finding{{Check: m.name, Verdict: Wrong, Found: m.means}}, m.name)
	}
	for name, lie := range map[string]func(*driver.Record, *bool){
		"duplicate":       func(r *driver.Record, _ *bool) { r.Owner = "another" },
		"takeover":        func(r *driver.Record, _ *bool) { r.Request = nil },
		"second takeover": func(r *driver.Record, _ *bool) { r.Steps = nil },
		"fence":           func(r *driver.Record, _ *bool) { *r = driver.Record{} },
		"replay":          func(r *driver.Record, _ *bool) { r.Data = []byte("1") },
	} {
		f, _ := plays(slices.IndexFunc(moves, func(m move) bool { return m.name == name }), lie)
		check.Equal(t, len(f.found.All), 1, name)
		check.Equal(t, f.found.All[0].Check, name)
	}
}

// With --function, the role of the function may what the caller may not.
func TestDeniedCallBesideAFunctionIsTheCallers(t *testing.T) {
	denied := fmt.Errorf("the caller: %w", driver.ErrDenied)
	for is, of := range map[Verdict]*tableCheck{Warning: {function: &Deployed{}}, Wrong: {}} {
		got, toDo := of.repair(t.Context(), denied)
		check.Equal(t, got, is)
		check.Contains(t, toDo, "once policy")
	}
}
