package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/keypath"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// bodyID is the option for a webhook that has the id of its event in its body.
func bodyID() *httpapi.Options {
	return &httpapi.Options{Key: keypath.Path[httpapi.Request]("body.id")}
}

func webhook(text string) httpCall { return httpCall{user: "ada", body: text} }

const evt1, evt2 = `{"id":"evt_1","amount":1}`, `{"id":"evt_2","amount":1}`

// A key from another place is treated as one from the header.
func TestKeyOfTheBody(t *testing.T) {
	checkRules(t, []httpRule{
		{name: "a repetition", options: bodyID(), steps: []httpStep{
			ok(webhook(evt1), 1), again(webhook(evt1), 1), again(webhook(`{"amount":1.0, "id":"evt_1"}`), 1), ok(webhook(evt2), 2)}},
		{name: "the header means nothing", options: bodyID(), steps: []httpStep{
			ok(k.with(body(evt1)), 1), again(keyed("l").with(body(evt1)), 1), again(keyed("a,b").with(body(evt1)), 1)}},
		{name: "another body", options: bodyID(), steps: []httpStep{
			ok(webhook(evt1), 1), problem(webhook(`{"id":"evt_1","amount":2}`), 422, 1)}},
		{name: "no key", options: bodyID(), steps: []httpStep{
			problem(webhook(`{"amount":1}`), 400, 0), problem(webhook(`{"id":null,"amount":1}`), 400, 0), problem(webhook("amount=1"), 400, 0), problem(webhook(""), 400, 0)}},
		{name: "no key where none is required", options: bodyID(), config: &idempotent.Config{OnMissingKey: idempotent.RunMissingKey},
			steps: []httpStep{ok(webhook(`{"amount":1}`), 1), ok(webhook(`{"amount":1}`), 2), ok(webhook(evt1), 3), again(webhook(evt1), 3)}},
		{name: "a body that has no canonical form", options: bodyID(), steps: []httpStep{problem(webhook(`{"id":"a","id":"b"}`), 400, 0)}},
		{name: "a key that is too long", options: bodyID(), steps: []httpStep{
			ok(webhook(`{"id":"`+key255+`"}`), 1), problem(webhook(`{"id":"`+key255+`k"}`), 400, 1)}},
		{name: "an expression that does not apply", options: &httpapi.Options{Key: keypath.Path[httpapi.Request]("join(',', body.id)")},
			steps: []httpStep{problem(webhook(evt1), 400, 0), ok(webhook(`{"id":["a","b"]}`), 1)}},
		{name: "PUT and DELETE", options: bodyID(), steps: []httpStep{
			ok(webhook(evt1).with(method("PUT")), 1), again(webhook(evt1).with(method("PUT")), 1),
			ok(webhook("amount=1").with(method("PUT")), 2), ok(webhook("amount=1").with(method("PUT")), 3), ok(webhook(evt1).with(method("GET")), 4)}},
		{name: "a header as it is", options: &httpapi.Options{Key: httpapi.HeaderKey("x-event-id")}, steps: []httpStep{
			ok(event(`"a,b;c`), 1), again(event(` "a,b;c `), 1), ok(event("é"), 2), problem(event(), 400, 2), problem(event(" "), 400, 2), problem(k, 400, 2)}},
		{name: "a header that is given twice", options: &httpapi.Options{Key: httpapi.HeaderKey("x-event-id")},
			skip: func(d httpDriver) bool {
				return d.lastOnly || strings.HasPrefix(d.name, "APIGatewayV2") || d.name == "FunctionURL"
			}, // which join them
			steps: []httpStep{problem(event("a", "a"), 400, 0)}},
		{name: "the path and the query", options: &httpapi.Options{Key: keypath.Path[httpapi.Request](`[method, path, query.id[0]]`)}, steps: []httpStep{
			ok(webhook("").with(query("id=%31&b=2")), 1), again(webhook("").with(query("id=1&b=2")), 1), problem(webhook("").with(query("id=1&b=3")), 422, 1),
			ok(webhook("").with(query("id=2")), 2)}},
		{name: "a payload of its own", options: &httpapi.Options{Key: idempotent.WithPayload(keypath.Path[httpapi.Request]("body.id"), func(httpapi.Request) any { return nil })},
			steps: []httpStep{ok(webhook(evt1), 1), problem(webhook(`{"id":"evt_1","tries":2}`), 422, 1)}},
		{name: "a payload that is compared in place of the request", options: &httpapi.Options{Key: idempotent.WithPayload(keypath.Path[httpapi.Request]("body.id"),
			func(r httpapi.Request) any { return strings.Contains(string(r.Body), "9") })},
			steps: []httpStep{ok(webhook(evt1), 1), again(webhook(`{"id":"evt_1","tries":2}`), 1), problem(webhook(`{"id":"evt_1","tries":9}`), 422, 1)}},
	})
}

// event is a call with the header of a webhook.
func event(ids ...string) httpCall {
	c := webhook("{}")
	for _, id := range ids {
		c.headers = append(c.headers, [2]string{"X-Event-Id", id})
	}
	return c
}

// A problem speaks of a key, and not of a header that is ignored.
func TestProblemNamesAKeyOfTheBody(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		o := bodyID()
		o.Documentation = "https://example.com/keys"
		s := newSite(t, d, newExecutor(t, memory.New(0), nil), o, created)
		s.get(webhook(evt1))
		for text, status := range map[string]int{`{}`: 400, `{"id":"` + key255 + `k"}`: 400, `{"id":"evt_1"}`: 422} {
			title, detail := isProblem(t, s.get(webhook(text)), status)
			check.Lacks(t, title+detail, "Idempotency-Key", text)
			check.Lacks(t, title+detail, "header", text)
			check.Contains(t, title, "dempotency key", text)
		}
	})
}

// Errors of the functions for the key and the scope are the call's, whatever their
// type, or choose the response.
func TestKeyFunctionFails(t *testing.T) {
	broken, reused := errors.New("broken"), &idempotent.KeyReusedError{RecordID: "another call's"}
	for name, c := range map[string]struct {
		key    idempotent.Key
		err    error
		scope  error // of its function
		status int   // of the answer, or
		want   error // of the call
	}{
		"an error":        {err: broken, want: broken},
		"of the scope":    {key: idempotent.Key{ID: "k"}, scope: broken, want: broken},
		"another call's":  {key: idempotent.Key{ID: "k"}, scope: reused, want: reused},
		"a status":        {err: &httpapi.StatusError{Status: 418, Detail: "Not signed.", Err: broken}, status: 418},
		"the scope's":     {key: idempotent.Key{ID: "k"}, scope: &httpapi.StatusError{Status: 401, Detail: "Not signed.", Err: broken}, status: 401},
		"a scope":         {key: idempotent.Key{Scope: "ada", ID: "k"}, want: httpapi.ErrKeyField},
		"a record":        {key: idempotent.Key{Record: "op#1"}, want: httpapi.ErrKeyField},
		"a missing key":   {err: fmt.Errorf("no: %w", &idempotent.MissingKeyError{Part: "scope"}), status: 400},
		"an invalid key":  {err: fmt.Errorf("no: %w", &idempotent.InvalidKeyError{Part: "Scope", Reason: "is wrong"}), status: 400},
		"no error, no ID": {status: 400},
	} {
		forEachHTTP(t, func(t *testing.T, d httpDriver) {
			if c.scope != nil {
				d.scope = func() httpapi.Scope {
					return httpapi.ScopeFunc(func(context.Context, httpapi.Caller) (string, error) { return "", c.scope })
				}
			}
			s := newSite(t, d, newExecutor(t, memory.New(0), nil), &httpapi.Options{
				Key: func(httpapi.Request) (idempotent.Key, error) { return c.key, c.err },
			}, created)
			r, err := s.send(t.Context(), k)
			switch {
			case c.scope != nil && c.want != nil && d.lambda:
				check.Equal(t, err, c.want, name)
			case c.want != nil && d.lambda:
				check.Is(t, err, c.want, name)
			case c.want != nil:
				isProblem(t, r, 500)
				check.Lacks(t, r.body, "broken", name)
			default:
				_, detail := isProblem(t, r, c.status)
				check.Equal(t, detail == "Not signed.", c.status != 400, name)
			}
			s.ran(0)
		})
	}
}

// The handler of a request that passes gets its body, although it was read to
// find that it has no key.
func TestMiddlewareWithAKeyOfTheBodyPassesTheBodyOn(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	o := bodyID()
	o.MaxRequestBytes = 20
	protected, _ := serveHTTP(t, x, o, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
		if err := http.NewResponseController(w).Flush(); err != nil && r.Header.Get("X-Keyed") == "" {
			t.Errorf("an answer that is not kept is held back: %v", err)
		}
	})
	for _, method := range []string{"POST", "PUT"} {
		for body, want := range map[string]int{"no key": 200, strings.Repeat("x", 21): 413} {
			r, err := sendTo(t.Context(), protected, httpCall{method: method, body: body})
			check.Must(t, err)
			check.Equal(t, r.status, want, method)
			check.Equal(t, r.body == body, want == 200, method, r.body)
		}
	}
}

func TestHeaderKeyNeedsAFieldName(t *testing.T) {
	handlertest.CheckMistakes(t, func() { httpapi.HeaderKey("a field") }, `"a field" is not a field name`)
}
