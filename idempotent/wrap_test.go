package idempotent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/keypath"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

func TestWrapRefusesNil(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	key := idempotent.Field(func(s string) string { return s })
	fn := func(context.Context, string) (string, error) { return "", nil }
	effect := func(context.Context, string) error { return nil }
	for name, wrap := range map[string]func(){
		"the Executor is nil":     func() { idempotent.Wrap(nil, key, fn) },
		"the key function is nil": func() { idempotent.Wrap(x, nil, fn) },
		"the handler is nil":      func() { idempotent.Wrap[string, string](x, key, nil) },
		"WrapEffect: the handler": func() { idempotent.WrapEffect(x, key, nil) },
		"WrapEffect: the key":     func() { idempotent.WrapEffect(x, nil, effect) },
		"the zero value":          func() { idempotent.Wrap(new(idempotent.Executor), key, fn) },
		"Do: the Executor is nil": func() { _, _ = idempotent.Do(t.Context(), nil, theKey, returns("")) },
		"Do: the Executor is the zero value": func() {
			_, _ = idempotent.Do(t.Context(), new(idempotent.Executor), theKey, returns(""))
		},
		"Do: the handler is nil":    func() { _, _ = idempotent.Do[string](t.Context(), x, theKey, nil) },
		"Step: the function is nil": func() { _, _ = idempotent.Step[string](idempotent.Unprotected(t.Context()), "s", nil) },
	} {
		panicked := panicOf(wrap)
		check.Contains(t, fmt.Sprint(panicked), name)
		if _, ok := panicked.(*driver.ConfigError); !ok && name != "Step: the function is nil" {
			t.Errorf("%s: the panic is a %T", name, panicked)
		}
	}
}

type (
	hidden    struct{ charge string }
	shown     struct{ _, Charge string }
	spelled   struct{ charge string }
	spelledAt struct{ charge string }
	tagged    struct {
		Charge string `json:"-"`
	}
	notifying struct{ Done chan int }
	noted     struct {
		ID   string
		Done chan int `json:"-"`
	}
	tree  []tree
	holds struct{ _ struct{} }
)

func (s spelled) MarshalJSON() ([]byte, error) { return []byte(`"` + s.charge + `"`), nil }

func (s *spelledAt) MarshalText() ([]byte, error) { return []byte(s.charge), nil }

// refusal returns why a handler with this result is refused, and "" if it is not.
func refusal[T any](x *idempotent.Executor) string {
	key := idempotent.Field(func(s string) string { return s })
	p := panicOf(func() {
		idempotent.Wrap(x, key, func(context.Context, string) (t T, err error) { return t, nil })
	})
	if err, ok := p.(*driver.ConfigError); ok {
		return err.Error()
	}
	return ""
}

func TestWrapRefusesAResultThatJSONDoesNotCarry(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	for name, refused := range map[string]func(*idempotent.Executor) string{
		"hidden has no field": refusal[hidden], "*idempotent_test.hidden has": refusal[*hidden], "[]idempotent_test.hidden has": refusal[[]hidden],
		"tagged has": refusal[tagged], "spelledAt has": refusal[spelledAt], "func() has no JSON form": refusal[func()],
		"chan int has": refusal[chan int], "complex128 has": refusal[complex128], "its field Done: type chan int": refusal[notifying],
	} {
		check.Contains(t, refused(x), name)
	}
	for n, accepted := range []func(*idempotent.Executor) string{
		refusal[struct{}], refusal[holds], refusal[any], refusal[error], refusal[string], refusal[shown], refusal[spelled], refusal[*spelledAt], refusal[[]spelledAt],
		refusal[noted], refusal[tree], refusal[time.Time], refusal[map[string]any], refusal[json.RawMessage],
	} {
		check.Equal(t, accepted(x), "", n)
	}
	gob := newExecutor(t, memory.New(0), &idempotent.Config{Codec: indented{}})
	check.Equal(t, refusal[hidden](gob), "", "with a Codec of its own")
}

// Do learns of the type with the call.
func TestWorkWhoseResultJSONDoesNotCarryDoesNotRun(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	p := panicOf(func() {
		_, _ = idempotent.Do(t.Context(), x, theKey, func(context.Context) (hidden, error) {
			t.Error("the work ran")
			return hidden{charge: "ch_1"}, nil
		})
	})
	check.Contains(t, fmt.Sprint(p), "hidden has no field that encoding/json writes")
}

// The key is read before the handler runs. A handler that changes its request
// completes the record that it claimed.
func TestWrapHandlerMayChangeItsRequest(t *testing.T) {
	type request struct{ ID, Text string }
	x := newExecutor(t, memory.New(0), nil)
	runs := 0
	handler := idempotent.Wrap(x, func(r *request) (idempotent.Key, error) {
		return idempotent.Key{ID: r.ID, Payload: r}, nil
	}, func(_ context.Context, r *request) (int, error) {
		runs++
		r.ID, r.Text = "changed", "changed"
		return runs, nil
	})
	for range 2 {
		n, err := handler(t.Context(), &request{"k", "text"})
		check.Nil(t, err)
		check.Equal(t, n, 1)
	}
}

// refusing is a codec for which no result can be stored.
type refusing struct{}

func (refusing) Encode(any) ([]byte, error) { return nil, errors.New("no message of mine") }

func (refusing) Decode([]byte, any) error { return errors.New("no message of mine") }

func TestWrapEffect(t *testing.T) {
	store := memory.New(0)
	runs := 0
	keep := func(k idempotent.Key) (idempotent.Key, error) { return k, nil }
	x := newExecutor(t, store, &idempotent.Config{Codec: refusing{}})
	once := idempotent.WrapEffect(x, keep, func(context.Context, idempotent.Key) error { runs++; return nil })
	for range 2 {
		check.Must(t, once(t.Context(), theKey))
	}
	r := stored(t, store)
	check.Equal(t, runs, 1)
	check.Equal(t, string(r.Data), "null")
	check.Equal(t, r.Unavailable, "")

	// Done is done, whatever the call that did it has left.
	other := idempotent.Key{ID: "other"}
	_, err := idempotent.Do(t.Context(), x, other, func(context.Context) (string, error) { return "receipt", nil })
	check.Must(t, err)
	if _, err := idempotent.Do(t.Context(), x, other, func(context.Context) (string, error) { return "", nil }); !errors.Is(err, idempotent.ErrResultUnavailable) {
		t.Fatalf("the result was to be lost: %v", err)
	}
	err = once(t.Context(), other)
	check.Nil(t, err)
	check.Equal(t, runs, 1)

	failing := idempotent.WrapEffect(x, keep, func(context.Context, idempotent.Key) error {
		runs++
		return idempotent.Permanent(errors.New("declined"))
	})
	declined := idempotent.Key{ID: "declined"}
	_ = failing(t.Context(), declined)
	err = failing(t.Context(), declined)
	check.Is(t, err, idempotent.ErrReplayed)
	check.Equal(t, runs, 2)
}

// Calls that run without a key have nothing in common.
func TestMissingKeys(t *testing.T) {
	empty := func(string) (idempotent.Key, error) { return idempotent.Key{}, nil }
	byPath := keypath.Path[string]("nothing")
	scoped := idempotent.WithScope(idempotent.Field(func(id string) string { return id }), byPath)
	for name, test := range map[string]struct {
		policy idempotent.MissingKeyPolicy
		key    func(string) (idempotent.Key, error)
		runs   int
	}{
		"an empty id is refused":                  {idempotent.RefuseMissingKey, empty, 0},
		"a null path is refused":                  {idempotent.RefuseMissingKey, byPath, 0},
		"an empty id runs unprotected":            {idempotent.RunMissingKey, empty, 2},
		"a null path runs unprotected":            {idempotent.RunMissingKey, byPath, 2},
		"a missing scope is refused all the same": {idempotent.RunMissingKey, scoped, 0},
	} {
		x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: test.policy})
		runs, keys := 0, map[string]bool{}
		handler := idempotent.Wrap(x, test.key, func(ctx context.Context, _ string) (int, error) {
			runs++
			keys[idempotent.DownstreamKey(ctx, "a")], keys[idempotent.DownstreamKey(ctx, "b")] = true, true
			return runs, nil
		})
		for i := range 2 {
			n, err := handler(t.Context(), "k")
			check.Equal(t, n, min(i+1, test.runs), name)
			check.Equal(t, errors.Is(err, idempotent.ErrMissingKey), test.runs == 0, name)
		}
		check.Equal(t, len(keys), 2*test.runs, name)
	}
}

func TestInvalidKeys(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	const secret = "4111-1111"
	for name, key := range map[string]idempotent.Key{
		"long id":                 {ID: strings.Repeat(secret, 200)},
		"long scope":              {Scope: strings.Repeat(secret, 200), ID: "k"},
		"control character":       {ID: secret + "\n"},
		"delete":                  {ID: secret + "\x7f"},
		"id not UTF-8":            {ID: secret + "\xff"},
		"scope not UTF-8":         {Scope: secret + "\xff", ID: "k"},
		"record not UTF-8":        {Record: secret + "\xff"},
		"long record":             {Record: strings.Repeat(secret, 300)},
		"record and id":           {Record: secret, ID: "k"},
		"record and scope":        {Record: secret, Scope: "s"},
		"fingerprint and payload": {ID: "k", Fingerprint: secret, Payload: 1},
		"long fingerprint":        {ID: "k", Fingerprint: strings.Repeat(secret, 200)},
	} {
		_, err := idempotent.Do(t.Context(), x, key, mustNotRun(t))
		if !errors.Is(err, idempotent.ErrInvalidKey) {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error quotes the key: %v", name, err)
		}
	}
	_, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: "k", Payload: make(chan int)}, mustNotRun(t))
	check.Is(t, err, idempotent.ErrInvalidPayload, "a payload without a form")
}

func TestDisabled(t *testing.T) {
	t.Setenv("ONCE_DISABLED", "true")
	x := newExecutor(t, unusable{}, nil)
	for range 2 {
		try(t.Context(), t, x, returns("ran")).returned("ran").ended(idempotent.OutcomeBypassed).roundTrips(0)
	}
	first := errors.New("no")
	try(t.Context(), t, x, failsWith(idempotent.Permanent(first))).fails(first)
}
