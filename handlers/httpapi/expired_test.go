package httpapi_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// uuidV7 is a key that was made so long ago.
func uuidV7(age time.Duration) string {
	ms := fmt.Sprintf("%012x", time.Now().Add(-age).UnixMilli())
	return ms[:8] + "-" + ms[8:] + "-7000-8000-000000000001"
}

// Behind the default retention, and within it.
const (
	tooOld    = 25 * time.Hour
	oldEnough = 23 * time.Hour
)

const expiredAnswers = "testdata/expired.golden"

// wireForm is a reply with all its headers but those of the server.
func wireForm(t *testing.T, r httpReply) string {
	t.Helper()
	r.headers.Del("Date")
	r.headers.Del("Content-Length")
	var text bytes.Buffer
	fmt.Fprintln(&text, r.status)
	check.Must(t, r.headers.Write(&text))
	fmt.Fprintln(&text, r.body)
	return text.String()
}

// A key that is too old to know is refused, and nothing is stored for it: the next request
// with it receives the same problem, to the byte.
func TestKeyThatIsTooOldIsGone(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		store, outcomes := &hooked{Store: memory.New(0)}, []idempotent.Outcome{}
		x := newExecutor(t, store, &idempotent.Config{RefuseLate: true, Observer: handlertest.Observer(func(e idempotent.Event) { outcomes = append(outcomes, e.Outcome) })})
		s := newSite(t, d, x, &httpapi.Options{Issued: idempotent.IssuedIn, Documentation: "https://api.example/keys"}, created)
		key := uuidV7(tooOld)
		lines := logged(t, func() {
			for range 2 {
				r := s.get(keyed(key))
				isProblem(t, r, 410)
				check.Equal(t, r.headers.Get("Cache-Control"), "no-store")
				check.Equal(t, r.headers.Get("Retry-After"), "")
				check.Golden(t, expiredAnswers, d.name, wireForm(t, r), *updateHTTPGolden)
			}
		})
		check.Equal(t, len(lines), 1)
		isLine(t, lines[0], map[string]any{"reason": "expired", "status": 410.})
		check.Lacks(t, string(handlertest.Marshal(t, lines)), key)
		s.ran(0)
		check.Equal(t, store.last.ID, "")
		check.Slice(t, outcomes, []idempotent.Outcome{idempotent.OutcomeExpired, idempotent.OutcomeExpired})
	})
}

// The type about:blank says nothing but the status, and a page has one section for it.
func TestTypeOfAKeyThatIsTooOld(t *testing.T) {
	for documentation, want := range map[string]string{
		"":                            `{"type":"about:blank","title":"Gone",`,
		"about:blank":                 `{"type":"about:blank","title":"Gone",`,
		"https://api.example/keys":    `{"type":"https://api.example/keys#key-expired","title":"Idempotency-Key is too old",`,
		"https://api.example/#format": `{"type":"https://api.example/#key-expired","title":"Idempotency-Key is too old",`,
		"/keys?v=1":                   `{"type":"/keys?v=1#key-expired","title":"Idempotency-Key is too old",`,
	} {
		s := newSite(t, httpDrivers[0], newExecutor(t, memory.New(0), &idempotent.Config{RefuseLate: true}),
			&httpapi.Options{Issued: idempotent.IssuedIn, Documentation: documentation}, created)
		check.Contains(t, s.get(keyed(uuidV7(tooOld))).body, want, documentation)
		check.Lacks(t, s.get(keyed()).body, "#key-expired", documentation)
	}
}

// Whoever does not say when keys are made refuses none, and a key that does not say so is
// as any other.
func TestKeysThatAreNotTooOldRun(t *testing.T) {
	refuses := &idempotent.Config{RefuseLate: true}
	late, soon := keyed(uuidV7(tooOld)), keyed(uuidV7(oldEnough))
	checkRules(t, []httpRule{
		{name: "a key within the retention", config: refuses, options: &httpapi.Options{Issued: idempotent.IssuedIn}, steps: []httpStep{ok(soon, 1), again(soon, 1)}},
		{name: "keys of the future", config: refuses, options: &httpapi.Options{Issued: idempotent.IssuedIn}, steps: []httpStep{ok(keyed(uuidV7(-tooOld)), 1)}},
		{name: "keys without a time", config: refuses, options: &httpapi.Options{Issued: idempotent.IssuedIn}, steps: []httpStep{ok(k, 1), again(k, 1)}},
		{name: "no option", config: refuses, steps: []httpStep{ok(late, 1), again(late, 1)}},
		{name: "no refusals", options: &httpapi.Options{Issued: idempotent.IssuedIn}, steps: []httpStep{ok(late, 1), again(late, 1)}},
		{name: "an invalid key", config: refuses, options: &httpapi.Options{Issued: func(string) time.Time { panic("called") }}, steps: []httpStep{problem(keyed("a,b"), 400, 0), problem(keyed(), 400, 0)}},
		{name: "a method that needs no key", config: refuses, options: &httpapi.Options{Issued: idempotent.IssuedIn}, steps: []httpStep{
			problem(late.with(method("PUT")), 410, 0), ok(keyed().with(method("PUT")), 1), ok(late.with(method("GET")), 2)}},
		{name: "quotes are no part of a key", config: refuses, options: &httpapi.Options{Issued: idempotent.IssuedIn}, steps: []httpStep{problem(keyed(`"`+uuidV7(tooOld)+`"`), 410, 0)}},
	})
}

// The response to a request is replayed for as long as it is stored.
func TestKeyThatIsTooOldIsReplayed(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		made := time.Now()
		s := newSite(t, d, newExecutor(t, memory.New(0), &idempotent.Config{RefuseLate: true}), &httpapi.Options{Issued: func(string) time.Time { return made }}, created)
		check.Equal(t, s.get(k).status, 201)
		made = made.Add(-tooOld)
		isReply(t, s.get(k), 201, "run 1", "true")
		isProblem(t, s.get(k.with(body(`{"amount":2}`))), 422)
		s.ran(1)
	})
}

// A key function sets the time of its keys itself.
func TestKeyFunctionSaysWhenItsKeysWereMade(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		made := time.Now().Add(-tooOld)
		o := &httpapi.Options{Key: func(r httpapi.Request) (idempotent.Key, error) {
			return idempotent.Key{ID: r.Headers.Get("Idempotency-Key"), Issued: made}, nil
		}}
		s := newSite(t, d, newExecutor(t, memory.New(0), &idempotent.Config{RefuseLate: true}), o, created)
		title, detail := isProblem(t, s.get(k), 410)
		check.Equal(t, title, "Gone")
		check.Contains(t, detail, "This idempotency key is too old")
		made = time.Now()
		check.Equal(t, s.get(k).status, 201)
		s.ran(1)
	})
	handlertest.CheckMistakes(t, func() {
		httpapi.Middleware(newExecutor(t, memory.New(0), nil), httpapi.NoIdentity(), &httpapi.Options{Issued: idempotent.IssuedIn, Key: httpapi.HeaderKey("x")})
	}, "Options.Issued has no effect beside Options.Key")
}
