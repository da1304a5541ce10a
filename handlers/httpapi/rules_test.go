package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// httpStep is one request of a rule, and what it gets.
type httpStep struct {
	call   httpCall
	status int
	runs   int // so far
	replay bool
}

// httpRule is a row of the HTTP semantics, which every adapter has.
type httpRule struct {
	name    string
	config  *idempotent.Config
	options *httpapi.Options
	status  []int // of the handler's runs, the last for all others; default 201
	steps   []httpStep
	skip    func(httpDriver) bool
}

func ok(c httpCall, runs int) httpStep           { return httpStep{c, 201, runs, false} }
func again(c httpCall, runs int) httpStep        { return httpStep{c, 201, runs, true} }
func problem(c httpCall, status, n int) httpStep { return httpStep{c, status, n, false} }

var (
	k        = keyed("k")
	key255   = strings.Repeat("k", 255)
	seesLast = func(d httpDriver) bool { return d.lastOnly }
	noBase64 = func(d httpDriver) bool { return !d.encodes }
)

func body(text string) func(*httpCall)   { return func(c *httpCall) { c.body = text } }
func path(text string) func(*httpCall)   { return func(c *httpCall) { c.path = text } }
func query(text string) func(*httpCall)  { return func(c *httpCall) { c.query = text } }
func method(text string) func(*httpCall) { return func(c *httpCall) { c.method = text } }

var httpRules = []httpRule{
	{name: "a repetition gets the first answer", steps: []httpStep{ok(k, 1), again(k, 1), again(k, 1)}},
	{name: "another key is another request", steps: []httpStep{ok(k, 1), ok(keyed("l"), 2)}},
	{name: "a quoted and a bare key are one", steps: []httpStep{ok(keyed(`"k"`), 1), again(k, 1), again(keyed(` "k";v=1 `), 1)}},
	{name: "a quoted key may hold what a bare one may not", steps: []httpStep{ok(keyed(`"a,b; \"c\" \\"`), 1), again(keyed(`"a,b; \"c\" \\"`), 1)}},
	{name: "keys are told apart by case", steps: []httpStep{ok(k, 1), ok(keyed("K"), 2)}},
	{name: "no key", steps: []httpStep{problem(keyed(), 400, 0)}},
	{name: "no key where none is required", config: &idempotent.Config{OnMissingKey: idempotent.RunMissingKey},
		steps: []httpStep{ok(keyed(), 1), ok(keyed(), 2), problem(keyed(""), 400, 2)}},
	{name: "empty keys", steps: refusedKeys("", " ", `""`)},
	{name: "malformed keys", steps: refusedKeys(`"`, `"a`, `a"b`, `"a" b`, `"a""b"`, `"a\b"`, `"a", "b"`, "a,b", "a;b", `a\b`, "a b", "é", `"é"`)},
	{name: "two keys", skip: seesLast, steps: []httpStep{problem(keyed("a", "b"), 400, 0), problem(keyed("a", "a"), 400, 0), problem(keyed(`"a"`, `"b"`), 400, 0)}},
	{name: "the longest key", steps: []httpStep{ok(keyed(key255), 1), again(keyed(`"`+key255+`"`), 1), problem(keyed(key255+"k"), 400, 1), problem(keyed(`"`+key255+`k"`), 400, 1)}},
	{name: "a shorter longest key", options: &httpapi.Options{MaxKeyBytes: 3}, steps: []httpStep{ok(keyed("abc"), 1), problem(keyed("abcd"), 400, 1)}},
	{name: "a format of the API's own", options: &httpapi.Options{ValidKey: isUUID},
		steps: []httpStep{problem(k, 400, 0), ok(keyed("8e03978e-40d5-43dd-bc93-6894a57f9324"), 1), again(keyed(`"8e03978e-40d5-43dd-bc93-6894a57f9324"`), 1)}},
	{name: "another header", options: &httpapi.Options{Header: "x-request-key"},
		steps: []httpStep{problem(k, 400, 0), ok(httpCall{user: "ada", headers: [][2]string{{"X-REQUEST-KEY", "k"}}}, 1), again(httpCall{user: "ada", headers: [][2]string{{"x-Request-Key", "k"}}}, 1)}},

	{name: "another body", steps: []httpStep{ok(k, 1), problem(k.with(body(`{"amount":2}`)), 422, 1), again(k, 1)}},
	{name: "another spelling of the body", steps: []httpStep{ok(k.with(body(`{"a":1,"b":[2,"\u00e9"]}`)), 1), again(k.with(body(`{ "b":[2.0, "é"], "a":10e-1 }`)), 1)}},
	{name: "numbers that no float64 tells apart", steps: []httpStep{ok(k.with(body(`{"id":9007199254740992}`)), 1), problem(k.with(body(`{"id":9007199254740993}`)), 422, 1)}},
	{name: "a body that is not JSON", steps: []httpStep{ok(k.with(body("a=1")), 1), again(k.with(body("a=1")), 1), problem(k.with(body("a=1 ")), 422, 1)}},
	{name: "a body that is JSON with a key twice", steps: []httpStep{ok(k.with(body(`{"a":1,"a":1}`)), 1), again(k.with(body(`{"a":1,"a":1}`)), 1), problem(k.with(body(`{"a":1, "a":1}`)), 422, 1)}},
	{name: "no body", steps: []httpStep{ok(k.with(body("")), 1), again(k.with(body("")), 1), problem(k.with(body("{}")), 422, 1)}},
	{name: "another method", steps: []httpStep{ok(k, 1), problem(k.with(method("PATCH")), 422, 1)}},
	{name: "another path", steps: []httpStep{ok(k.with(path("/accounts/1")), 1), problem(k.with(path("/accounts/2")), 422, 1), problem(k.with(path("/accounts/1/")), 422, 1)}},
	{name: "another spelling of the path", steps: []httpStep{ok(k.with(path("/accounts/a%2Fb")), 1), again(k.with(path("/acc%6Funts/a%2fb")), 1), problem(k.with(path("/accounts/a/b")), 422, 1), problem(k.with(path("/accounts/a%252Fb")), 422, 1)}},
	{name: "another query", steps: []httpStep{ok(k.with(query("a=1&b=2")), 1), problem(k.with(query("a=1&b=3")), 422, 1), problem(k.with(query("a=1")), 422, 1), problem(k, 422, 1)}},
	{name: "another order of the query", steps: []httpStep{ok(k.with(query("a=1&b=x%20y")), 1), again(k.with(query("b=x+y&a=%31")), 1)}},
	{name: "another order of one name's values", skip: seesLast, steps: []httpStep{ok(k.with(query("a=1&b=3&a=2")), 1), again(k.with(query("a=1&a=2&b=3")), 1), problem(k.with(query("a=2&a=1&b=3")), 422, 1)}},
	{name: "two spellings of one name in a query", steps: append([]httpStep{ok(k.with(query("a=1&%61=2")), 1)}, slices.Repeat([]httpStep{again(k.with(query("a=1&%61=2")), 1)}, 20)...)},
	{name: "a query whose parts run into each other", steps: []httpStep{ok(k.with(query("a=b%26c%3Dd")), 1), problem(k.with(query("a=b&c=d")), 422, 1)}},
	{name: "base64", skip: noBase64, steps: []httpStep{ok(k, 1), again(k.with(encoded("eyJhbW91bnQiOjF9")), 1), problem(k.with(encoded("not base64")), 400, 1)}},

	{name: "methods that are not protected", steps: []httpStep{
		ok(k.with(method("GET")), 1), ok(k.with(method("GET")), 2), ok(k.with(method("HEAD")), 3), ok(k.with(method("HEAD")), 4),
		ok(keyed().with(method("OPTIONS")), 5), ok(keyed().with(method("PUT")), 6), ok(keyed().with(method("PUT")), 7), ok(keyed().with(method("DELETE")), 8)}},
	{name: "PUT and DELETE with a key", steps: []httpStep{
		ok(k.with(method("PUT")), 1), again(k.with(method("PUT")), 1), problem(k.with(method("DELETE")), 422, 1),
		ok(keyed("l").with(method("DELETE")), 2), again(keyed("l").with(method("DELETE")), 2),
		problem(keyed("a,b").with(method("PUT")), 400, 2), problem(keyed("").with(method("DELETE")), 400, 2)}},
	{name: "PUT and DELETE where they are left out", options: &httpapi.Options{Methods: []string{"POST", "PATCH"}}, steps: []httpStep{
		ok(k.with(method("PUT")), 1), ok(k.with(method("PUT")), 2), ok(keyed("a,b").with(method("DELETE")), 3)}},
	{name: "a method of one's own without a key", options: &httpapi.Options{Methods: []string{"PUT"}}, steps: []httpStep{
		problem(keyed().with(method("PUT")), 400, 0)}},
	{name: "methods of one's own", options: &httpapi.Options{Methods: []string{"PUT"}}, steps: []httpStep{
		ok(k.with(method("PUT")), 1), again(k.with(method("PUT")), 1), ok(k, 2), ok(k, 3)}},
	{name: "a method in small letters", steps: []httpStep{ok(k.with(method("Post")), 1), again(k.with(method("Post")), 1), ok(keyed("l").with(method("post")), 2), again(keyed("l").with(method("post")), 2)}},

	{name: "no identity", steps: []httpStep{problem(httpCall{headers: k.headers}, 403, 0)}},
	{name: "two identities", steps: []httpStep{ok(k, 1), ok(k.with(func(c *httpCall) { c.user = "eve" }), 2), again(k, 2)}},

	{name: "after an error the key is free", status: []int{500, 503, 201}, steps: []httpStep{
		{k, 500, 1, false}, {k, 503, 2, false}, ok(k, 3), again(k, 3)}},
	{name: "after a refusal the key is free", status: []int{400, 201}, steps: []httpStep{
		{k.with(body("{}")), 400, 1, false}, ok(k, 2), again(k, 2)}},
	{name: "an error counts as an attempt", config: &idempotent.Config{MaxAttempts: 1}, status: []int{502, 201}, steps: []httpStep{
		{k, 502, 1, false}, problem(k, 500, 1)}},
	{name: "a refusal does not", config: &idempotent.Config{MaxAttempts: 1}, status: []int{429, 422, 201}, steps: []httpStep{
		{k, 429, 1, false}, {k, 422, 2, false}, ok(k, 3), again(k, 3)}},
	{name: "a corrected request uses the key of one that did nothing", config: &idempotent.Config{MaxAttempts: 1}, status: []int{400, 201}, steps: []httpStep{
		{k.with(body("{}")), 400, 1, false}, ok(k, 2), again(k, 2)}},
	{name: "answers to keep, of one's own", options: &httpapi.Options{Store: func(status int) bool { return status != 201 }}, status: []int{201, 500}, steps: []httpStep{
		ok(k, 1), {k, 500, 2, false}, {k, 500, 2, true}}},
	{name: "an answer that cannot be encoded", config: &idempotent.Config{Codec: brokenCodec{}}, steps: []httpStep{ok(k, 1), problem(k, 500, 1)}},
}

func encoded(text string) func(*httpCall) { return func(c *httpCall) { c.encoded = text } }

func refusedKeys(keys ...string) (steps []httpStep) {
	for _, key := range keys {
		steps = append(steps, problem(keyed(key), 400, 0))
	}
	return steps
}

func isUUID(key string) error {
	if len(key) != 36 {
		return errors.New(key + " is no UUID")
	}
	return nil
}

type brokenCodec struct{}

func (brokenCodec) Encode(any) ([]byte, error) { return nil, errors.New("broken") }
func (brokenCodec) Decode([]byte, any) error   { return errors.New("broken") }

func TestHTTPRules(t *testing.T) { checkRules(t, httpRules) }

// checkRules tests every adapter.
func checkRules(t *testing.T, rules []httpRule) {
	t.Helper()
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		for _, rule := range rules {
			if rule.skip != nil && rule.skip(d) {
				continue
			}
			t.Run(rule.name, func(t *testing.T) { rule.check(t, d) })
		}
	})
}

func (rule httpRule) check(t *testing.T, d httpDriver) {
	s := newSite(t, d, newExecutor(t, memory.New(0), rule.config), rule.options, func(_ context.Context, run int, _ string) (httpReply, error) {
		status := 201
		if len(rule.status) > 0 {
			status = rule.status[min(run, len(rule.status))-1]
		}
		return httpReply{status, http.Header{"Content-Type": {"text/plain"}}, "run " + strconv.Itoa(run)}, nil
	})
	given := map[string][]string{} // to each user: what a replay may repeat
	for i, step := range rule.steps {
		r := s.get(step.call)
		check.Equal(t, r.status, step.status, i)
		s.ran(step.runs)
		replay := r.headers.Get("Idempotent-Replayed")
		check.Equal(t, replay == "true", step.replay, i)
		switch user := step.call.user; {
		case step.call.method == http.MethodHead:
		case !strings.HasPrefix(r.body, "run "):
			isProblem(t, r, step.status)
		case step.replay && !slices.Contains(given[user], r.body):
			t.Errorf("step %d: replayed %q, after the answers %q", i, r.body, given[user])
		case !step.replay && r.body != "run "+strconv.Itoa(step.runs):
			t.Errorf("step %d: answered %q by run %d", i, r.body, step.runs)
		case !step.replay:
			given[user] = append(given[user], r.body)
		}
		for _, secret := range []string{"amount", key255, "8e03978e"} {
			check.Lacks(t, r.body, secret, i)
		}
	}
}

// The status decides whether a response is stored.
func TestHTTPStatuses(t *testing.T) {
	kept := map[int]bool{200: true, 201: true, 202: true, 204: true, 299: true, 301: true, 303: true, 402: true, 404: true, 405: true, 410: true, 413: true, 423: true, 451: true, 499: true,
		400: false, 401: false, 403: false, 408: false, 409: false, 422: false, 425: false, 429: false, 500: false, 501: false, 502: false, 503: false, 504: false, 599: false}
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		s := newSite(t, d, newExecutor(t, memory.New(0), nil), nil, func(_ context.Context, _ int, body string) (httpReply, error) {
			status, err := strconv.Atoi(body)
			check.Nil(t, err)
			return httpReply{status, http.Header{"X-Native": {"yes"}}, ""}, nil
		})
		for status, keep := range kept {
			call := keyed(strconv.Itoa(status)).with(body(strconv.Itoa(status)))
			before := s.runs.Load()
			one, two := s.get(call), s.get(call)
			check.Equal(t, one.status, status)
			check.Equal(t, two.status, status)
			// A status that is not stored is the handler's own response each time.
			native := two.headers.Get("X-Native") == "yes"
			replayed := two.headers.Get("Idempotent-Replayed") == "true"
			check.Equal(t, replayed, keep, status)
			check.Differ(t, native, keep, status)
			check.Equal(t, s.runs.Load()-before == 1, keep, status)
		}
	})
}

// A forgotten status is reported at once, and not only when a client repeats the
// request. The handler does not run again.
func TestForgottenStatusIsReportedAtTheFirstCall(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		if !d.lambda {
			return // net/http has 200 for it
		}
		for _, status := range []int{0, 101, 600, -1} {
			for _, o := range []*httpapi.Options{nil, {Store: func(status int) bool { return status == 201 }}} {
				s := newSite(t, d, newExecutor(t, memory.New(0), nil), o, func(context.Context, int, string) (httpReply, error) {
					return httpReply{status: status, body: "secret"}, nil
				})
				lines := logged(t, func() {
					first, again := s.get(k), s.get(k)
					_, detail := isProblem(t, first, 500)
					check.Contains(t, detail, fmt.Sprintf("StatusCode %d,", status))
					isReply(t, again, 500, first.body, "true")
				})
				check.Equal(t, len(lines), 1, status)
				isLine(t, lines[0], map[string]any{"level": "ERROR", "status": float64(status), "operation": "create-payment"})
				s.ran(1)
			}
		}
	})
}
