package keypaths

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/keypath"
)

// An expression that the first engine accepted has the same key for every event,
// and the same kind of error, or a slice of a string with more behind it, which is
// refused. One that it refused is refused, except for the functions that it did not have.
// ONCE_KEYPATHS sets the number of pairs.
func TestKeysAreThoseOfTheFirstEngine(t *testing.T) {
	const seed = 20
	pairs := 20_000
	if text := os.Getenv("ONCE_KEYPATHS"); text != "" {
		var err error
		if pairs, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	g := generator{rand.New(rand.NewPCG(seed, seed))}
	accepted, found, ids := 0, 0, map[string]bool{}
	for i := range pairs {
		expr := g.expression(i % 5)
		if i%8 == 7 {
			expr = g.mutate(expr)
		}
		event := g.event()
		ok, id := compare(t, expr, event)
		if ok {
			accepted++
		}
		if id != "" {
			found++
			ids[id] = true
		}
	}
	t.Logf("seed %d: %d pairs, of which the first engine accepted %d; %d have a key, of %d values", seed, pairs, accepted, found, len(ids))
	if accepted < pairs/2 || found < pairs/5 || len(ids) < found/10 {
		t.Error("the pairs are too poor to notice a difference")
	}
}

// The same, for the expressions and events that a fuzzer finds.
func FuzzKeys(f *testing.F) {
	g := generator{rand.New(rand.NewPCG(1, 1))}
	for i := range 50 {
		f.Add(g.expression(i%4), g.event())
	}
	f.Fuzz(func(t *testing.T, expr, event string) { compare(t, expr, event) })
}

var newFunction = regexp.MustCompile(`(^|[^a-z_])"?(` + strings.Join(refused, "|") + `)"?\)?\s*\(`)

// compare returns whether the first engine accepted the expression, and the id.
func compare(t *testing.T, expr, event string) (accepted bool, id string) {
	t.Helper()
	old, err := compilePeer(expr)
	key := compile(t, expr)
	if err != nil {
		if key != nil && !newFunction.MatchString(expr) && !strings.ContainsRune(expr, '\u0080') {
			t.Errorf("%q is accepted, and the first engine refused it", expr)
		}
		return false, ""
	}
	if key == nil {
		t.Errorf("%q is refused, and the first engine accepted it", expr)
		return true, ""
	}
	want, wantErr := old.id(json.RawMessage(event))
	got, gotErr := key(json.RawMessage(event))
	if gotErr != nil && strings.Contains(gotErr.Error(), "a slice of a string ends the expression") {
		return true, "" // the first engine left out what follows
	}
	if got.ID != want || errors.Is(gotErr, idempotent.ErrMissingKey) != (wantErr == errMissing) || (gotErr == nil) != (wantErr == nil) {
		t.Errorf("%q of %s: %q, %v; the first engine: %q, %v", expr, event, got.ID, gotErr, want, wantErr)
	}
	return true, got.ID
}

func compile(t *testing.T, expr string) (key func(json.RawMessage) (idempotent.Key, error)) {
	defer func() {
		if r := recover(); r != nil {
			if text, ok := r.(string); !ok || !strings.HasPrefix(text, "keypath: Path(") {
				t.Errorf("%q: %v", expr, r)
			}
			key = nil
		}
	}()
	return keypath.Path[json.RawMessage](expr)
}
