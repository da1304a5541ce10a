package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/keypath"
	"github.com/lambda-once/once/idempotent/memory"
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
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), name) {
					t.Errorf("%s: panics with %v", name, p)
				}
			}()
			wrap()
		}()
	}
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
		if n, err := handler(t.Context(), &request{"k", "text"}); err != nil || n != 1 {
			t.Errorf("got %d, %v", n, err)
		}
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
		if err := once(t.Context(), theKey); err != nil {
			t.Fatal(err)
		}
	}
	if r := stored(t, store); runs != 1 || string(r.Data) != "null" || r.Unavailable != "" {
		t.Errorf("ran %d times, stored %+v", runs, r)
	}

	// Done is done, whatever the call that did it has left.
	other := idempotent.Key{ID: "other"}
	if _, err := idempotent.Do(t.Context(), x, other, func(context.Context) (string, error) { return "receipt", nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := idempotent.Do(t.Context(), x, other, func(context.Context) (string, error) { return "", nil }); !errors.Is(err, idempotent.ErrResultUnavailable) {
		t.Fatalf("the result was to be lost: %v", err)
	}
	if err := once(t.Context(), other); err != nil || runs != 1 {
		t.Errorf("%v, ran %d times", err, runs)
	}

	failing := idempotent.WrapEffect(x, keep, func(context.Context, idempotent.Key) error {
		runs++
		return idempotent.Permanent(errors.New("declined"))
	})
	declined := idempotent.Key{ID: "declined"}
	_ = failing(t.Context(), declined)
	if err := failing(t.Context(), declined); !errors.Is(err, idempotent.ErrReplayed) || runs != 2 {
		t.Errorf("%v, ran %d times", err, runs)
	}
}

func TestMissingKeys(t *testing.T) {
	refuse, run := &idempotent.Config{}, &idempotent.Config{OnMissingKey: idempotent.RunMissingKey}
	id := func(id string) (idempotent.Key, error) { return idempotent.Key{ID: id}, nil }
	byPath := keypath.Path[map[string]any]("id")
	tenant := idempotent.WithScope(byPath, keypath.Path[map[string]any]("tenant"))
	for _, test := range []struct {
		name   string
		config *idempotent.Config
		key    func(map[string]any) (idempotent.Key, error)
		runs   bool
	}{
		{"an empty id is refused", refuse, func(map[string]any) (idempotent.Key, error) { return id("") }, false},
		{"a null path is refused", refuse, byPath, false},
		{"an empty id runs unprotected", run, func(map[string]any) (idempotent.Key, error) { return id("") }, true},
		{"a null path runs unprotected", run, byPath, true},
		{"a missing scope is refused all the same", run, tenant, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := newExecutor(t, memory.New(0), test.config)
			runs, keys := 0, map[string]bool{}
			handler := idempotent.Wrap(x, test.key, func(ctx context.Context, _ map[string]any) (int, error) {
				runs++
				keys[idempotent.DownstreamKey(ctx, "a")] = true
				if idempotent.DownstreamKey(ctx, "a") == idempotent.DownstreamKey(ctx, "b") {
					t.Error("two names have one downstream key")
				}
				return runs, nil
			})
			request := map[string]any{}
			if test.name == "a missing scope is refused all the same" {
				request["id"] = "k"
			}
			for i := range 2 {
				n, err := handler(t.Context(), request)
				if test.runs && (err != nil || n != i+1) {
					t.Errorf("got %d, %v", n, err)
				}
				if !test.runs && !errors.Is(err, idempotent.ErrMissingKey) {
					t.Errorf("got %d, %v", n, err)
				}
			}
			if test.runs && len(keys) != 2 {
				t.Errorf("unrelated requests share a downstream key: %v", keys)
			}
		})
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
	if !errors.Is(err, idempotent.ErrInvalidPayload) {
		t.Errorf("a payload without a form: %v", err)
	}
}

func TestDisabled(t *testing.T) {
	t.Setenv("ONCE_DISABLED", "true")
	x := newExecutor(t, unusable{}, nil)
	for range 2 {
		value, event, err := do(t.Context(), x, returns("ran"))
		if err != nil || value != "ran" || event.Outcome != idempotent.OutcomeBypassed || event.RoundTrips != 0 {
			t.Errorf("got %q, %v, %+v", value, err, event)
		}
	}
	first := errors.New("no")
	if _, _, err := do(t.Context(), x, failsWith(idempotent.Permanent(first))); err != first {
		t.Errorf("got %v", err)
	}
}
