package httpapi_test

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The handler sees the request as its first run has, but for what is not stored. The client
// that comes back receives the response.
func TestResumedRequestIsTheFirst(t *testing.T) {
	for name, change := range map[string]func(*httpCall){
		"plain":             func(*httpCall) {},
		"query":             func(c *httpCall) { c.query = "b=1&a=2&b=3&c&d=" },
		"escapes":           func(c *httpCall) { c.path, c.query = "/a%2Fb/%C3%BC%20x", "q=%26%3D+%25&%C3%BC=%FF" },
		"form of the query": func(c *httpCall) { c.query = "q=(x)&r=a+b&s=a%20b" },
		"no body":           func(c *httpCall) { c.body = "" },
		"text":              func(c *httpCall) { c.body = "a <b> & \"c\" \u2028" },
		"encoded":           func(c *httpCall) { c.headers = append(c.headers, [2]string{"Content-Encoding", "gzip"}) },
		"PUT":               func(c *httpCall) { c.method = http.MethodPut },
	} {
		t.Run(name, func(t *testing.T) {
			forEachResumable(t, nil, func(t *testing.T, d *deserted) {
				c := payment(change)
				isReply(t, d.desert(c), 201, "done", "")
				check.Equal(t, d.resume(), resumed(1))
				check.Equal(t, len(d.seen), 2)
				first, again := d.seen[0], d.seen[1]
				check.True(t, len(first.Secrets) > 1, first.Secrets)
				check.Slice(t, again.Secrets, nil)
				check.Equal(t, again.User, "ada")
				check.Deep(t, again.stored(first), first.stored(first))

				r, err := d.send(t.Context(), c)
				check.Must(t, err)
				isReply(t, r, 201, "done", "true")
				check.Equal(t, d.resume(), resumed(0)) // nothing is left
				check.Equal(t, len(d.seen), 2)
			})
		})
	}
}

// A body that is no text, as gateways send it, arrives byte by byte.
func TestResumedBodyNeedNotBeText(t *testing.T) {
	const body = "\xff\x00\xfe{"
	forEachResumable(t, nil, func(t *testing.T, d *deserted) {
		c := payment(func(c *httpCall) { c.body, c.encoded = body, base64.StdEncoding.EncodeToString([]byte(body)) })
		d.desert(c)
		check.Equal(t, d.resume(), resumed(1))
		check.Equal(t, d.seen[1].Body, body)
	})
}

// Whatever a client sends, the request that is stored has the key and the fingerprint of the
// one that came: the engine takes over no other.
func FuzzResumedRequest(f *testing.F) {
	for _, seed := range [][3]string{
		{"/", "", ""}, {"/a%2Fb/%zz", "a=%zz&b=%", "{"}, {"/\xff", "\xff=\xfe&&=&;", "\xff"}, {"//a//", "a=1;b=2&a=+&a=%2B", `{"a":1.0}`},
		{"/ü/%C3%BC", "ü=%C3%BC&%3D=%26", "a b"}, {"", "==&a==b", "null"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, path, query, body string) {
		for _, kind := range httpDrivers {
			if _, err := url.ParseQuery(query); err != nil && kind.name == "APIGateway" {
				continue // a REST API decodes the query, or refuses it
			}
			kind.scope = httpapi.NoIdentity
			if kind.name == "Middleware" {
				kind.resumable = directMiddleware
			}
			d := newDeserted(t, kind, &httpapi.Options{Resume: savingUser()}, idempotent.Config{})
			c := payment(func(c *httpCall) {
				c.path, c.query, c.encoded = path, query, base64.StdEncoding.EncodeToString([]byte(body))
				c.body = body
			})
			if _, err := d.send(t.Context(), c); err != nil || len(d.seen) == 0 {
				continue // no such request
			}
			d.desert(c)
			check.Equal(t, d.resume(), resumed(1), kind.name)
			check.Equal(t, d.seen[len(d.seen)-1].Body, body, kind.name)
		}
	})
}

// directMiddleware needs no server: a client would refuse most of what is sent.
func directMiddleware(_ testing.TB, x *idempotent.Executor, scope httpapi.Scope, o *httpapi.Options) *resumable {
	h := &resumable{}
	inner := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body := new(strings.Builder)
		_, _ = io.Copy(body, r.Body)
		_, _ = h.see(r.Context(), seenRequest{Body: body.String()})
	})
	handler := httpapi.Middleware(x, scope, o)(inner)
	h.resumed = httpapi.Resumed(x, scope, inner, o)
	h.send = func(ctx context.Context, c httpCall) (httpReply, error) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.body)).WithContext(ctx)
		r.URL.Path, r.URL.RawQuery = c.path, c.query
		r.Header.Set("Idempotency-Key", "k")
		handler.ServeHTTP(httptest.NewRecorder(), r)
		return httpReply{}, nil
	}
	return h
}

// desertedBy sends a request to a handler of net/http whose process then dies.
func desertedBy(t *testing.T, own *httpapi.ResumeOptions, handler http.Handler, change ...func(*http.Request)) *deserted {
	t.Helper()
	d := &deserted{t: t, store: &hooked{Store: memory.New(0)}}
	x, o := newExecutor(t, d.store, &idempotent.Config{Resume: true}), &httpapi.Options{Resume: own}
	d.resumable = &resumable{resumed: httpapi.Resumed(x, httpapi.NoIdentity(), handler, o)}
	postKeyed(httpapi.Middleware(x, httpapi.NoIdentity(), o)(handler), change...)
	d.store.plant(t, func(r *driver.Record) { r.Lease = time.UnixMilli(1) })
	return d
}

// A handler behind a mux has the values of the path, and the host if it is listed.
func TestResumedRequestPassesThroughAMux(t *testing.T) {
	var seen []string
	mux := http.NewServeMux()
	mux.HandleFunc("POST shop.example/orders/{id}", func(_ http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Host+" "+r.PathValue("id")+" "+r.Header.Get("Host"))
	})
	d := desertedBy(t, savingUser(), mux, func(r *http.Request) { r.Host, r.URL.Path = "shop.example", "/orders/7" })
	check.Equal(t, d.resume(), resumed(1))
	check.Slice(t, seen, []string{"shop.example 7 ", "shop.example 7 "})
}

// A call that the resumed handler makes to a protected handler in its process is a call of
// its own.
func TestCallWithinAResumedHandlerIsNotResumed(t *testing.T) {
	mails, err := idempotent.New("mail", memory.New(0), nil)
	check.Must(t, err)
	sent := 0
	ada := httpapi.ScopeFunc(func(context.Context, httpapi.Caller) (string, error) { return "ada", nil })
	mail := httpapi.Middleware(mails, ada, nil)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sent++
		w.WriteHeader(202)
	}))
	var status []int
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		w := postKeyed(mail, func(inner *http.Request) { *inner = *inner.WithContext(r.Context()) })
		status = append(status, w.Code)
	})
	check.Equal(t, desertedBy(t, savingUser(), handler).resume(), resumed(1))
	check.Slice(t, status, []int{202, 202})
	check.Equal(t, sent, 1)
}

// The call would otherwise be none of the resumption, and could begin anew.
func TestRestoreOfAContextOfItsOwnResumesNothing(t *testing.T) {
	runs, own := 0, savingUser()
	own.Restore = func(context.Context, string) (context.Context, error) { return context.Background(), nil }
	d := desertedBy(t, own, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runs++ }))
	check.Contains(t, d.left(), "ResumeOptions.Restore returned an error")
	check.Equal(t, runs, 1)
}

// The response of a resumed run is stored by the rules of every other.
func TestResumedRunWithAStatusThatIsNotStoredFails(t *testing.T) {
	forEachResumable(t, nil, func(t *testing.T, d *deserted) {
		d.desert(payment())
		d.answers = func(context.Context, int) (int, error) { return 503, nil }
		check.Equal(t, d.resume(), handlers.ResumeReport{Operation: "create-payment", Failed: 1, Complete: true})
		check.Equal(t, d.events[len(d.events)-1].Outcome, idempotent.OutcomeReleased)
		d.answers = nil
		r, err := d.send(t.Context(), payment())
		check.Must(t, err)
		isReply(t, r, 201, "done", "")
		check.Equal(t, len(d.seen), 3)
	})
}

// An error with a status that is stored ends the work, which is then undone.
func TestResumedRunThatFailsForGoodIsFinished(t *testing.T) {
	forEachResumable(t, nil, func(t *testing.T, d *deserted) {
		d.desert(payment())
		d.answers = func(context.Context, int) (int, error) {
			return 0, &httpapi.StatusError{Status: 402, Title: "declined"}
		}
		check.Equal(t, d.resume(), resumed(1))
		r, err := d.send(t.Context(), payment())
		check.Must(t, err)
		check.Equal(t, r.status, 402)
		check.Equal(t, r.headers.Get("Idempotent-Replayed"), "true")
	})
}

// Nothing is stored of a request that has no record.
func TestRequestWithoutARecordIsNotStored(t *testing.T) {
	saves := 0
	own := savingUser()
	own.Save = func(context.Context, httpapi.Caller) (string, error) { saves++; return "", nil }
	forEachResumable(t, &httpapi.Options{Resume: own}, func(t *testing.T, d *deserted) {
		saves = 0
		for _, c := range []httpCall{
			payment(func(c *httpCall) { c.method = http.MethodGet }),                    // unprotected
			payment(func(c *httpCall) { c.method, c.headers = "PUT", c.headers[1:] }),   // unkeyed
			payment(func(c *httpCall) { c.headers = c.headers[1:] }),                    // without the key it needs
			payment(func(c *httpCall) { c.headers[0][1] = `"` }),                        // unreadable
			payment(func(c *httpCall) { c.user = "" }),                                  // of nobody
			payment(func(c *httpCall) { c.headers, c.encoded = c.headers[1:], "no64" }), // both
		} {
			_, err := d.send(t.Context(), c)
			check.Must(t, err)
		}
		check.Equal(t, d.store.last.ID, "")
		check.Equal(t, saves, 0)
		_, err := d.send(t.Context(), payment())
		check.Must(t, err)
		check.Equal(t, saves, 1)
		check.True(t, d.store.last.Request != nil)
	})
}

// A record that no function of this package has stored is not a request.
func TestRecordOfAnotherHandlerIsLeft(t *testing.T) {
	forEachResumable(t, nil, func(t *testing.T, d *deserted) {
		d.desert(payment())
		for _, text := range []string{`{"id":"p-1"}`, `{"request":{"method":"POST","path":"/%zz"}}`} {
			d.store.plant(t, func(r *driver.Record) {
				r.Lease = time.UnixMilli(1)
				r.Request = append(slices.Clone(r.Request[:1]), text...)
			})
			check.Contains(t, d.left(), "not resumed")
		}
		check.Equal(t, len(d.seen), 1)
	})
}

func TestResumeOptionsMistakes(t *testing.T) {
	plain, resuming := newExecutor(t, memory.New(0), nil), newExecutor(t, memory.New(0), &idempotent.Config{Resume: true})
	for _, kind := range httpDrivers {
		handlertest.CheckMistakes(t, func() { kind.resumable(t, resuming, kind.scope(), nil) }, "Config.Resume is set, and Options.Resume is not")
		handlertest.CheckMistakes(t, func() { kind.resumable(t, resuming, kind.scope(), &httpapi.Options{}) }, "Config.Resume is set, and Options.Resume is not")
		handlertest.CheckMistakes(t, func() { kind.resumable(t, resuming, kind.scope(), &httpapi.Options{Resume: &httpapi.ResumeOptions{}}) },
			"ResumeOptions.Save is nil", "ResumeOptions.Restore is nil")
		handlertest.CheckMistakes(t, func() { kind.resumable(t, plain, kind.scope(), &httpapi.Options{Resume: savingUser()}) }, "no effect without Config.Resume")
	}
	for _, name := range []string{"authorization", "COOKIE", "Proxy-Authorization", "x-amz-security-token", "X-API-Key"} {
		own := savingUser()
		own.Headers = []string{"a b", name}
		handlertest.CheckMistakes(t, func() { resumableMiddleware(t, resuming, headerScope(), &httpapi.Options{Resume: own}) },
			`"a b", which is not a field name`, name+" is a header with credentials")
		handlertest.CheckMistakes(t, func() {
			resumableMiddleware(t, resuming, headerScope(), &httpapi.Options{Resume: savingUser(), Header: name})
		}, name+" is a header with credentials")
	}
	handlertest.CheckMistakes(t, func() { httpapi.Resumed(resuming, headerScope(), nil, nil) }, "Resumed: the handler is nil")
	handlertest.CheckMistakes(t, func() {
		httpapi.ResumedEvent[v2Request, v2Response](resuming, headerScope(), nil, &httpapi.Options{Resume: savingUser()})
	}, "the handler is nil")
	other := func(context.Context, v2Request) (string, error) { return "", nil }
	handlertest.CheckMistakes(t, func() { httpapi.ResumedEvent(resuming, headerScope(), other, nil) }, "no function of this package protects a func(context.Context, events.APIGatewayV2HTTPRequest) (string, error)")
}

// ONCE_DISABLED changes no mistake, and stores nothing.
func TestDisabledExecutorStoresNoRequest(t *testing.T) {
	t.Setenv("ONCE_DISABLED", "true")
	store := &hooked{Store: memory.New(0)}
	x := newExecutor(t, store, &idempotent.Config{Resume: true})
	o := &httpapi.Options{Resume: savingUser()}
	check.Equal(t, postKeyed(httpapi.Middleware(x, httpapi.NoIdentity(), o)(http.NotFoundHandler())).Code, 404)
	check.Equal(t, store.last.ID, "")
	handlertest.CheckMistakes(t, func() { handlers.Resume(httpapi.Resumed(x, httpapi.NoIdentity(), http.NotFoundHandler(), o), nil) }, "ONCE_DISABLED is set")
}

// A chain continues as in the first run.
func TestResumedRequestContinuesItsChain(t *testing.T) {
	forEachResumable(t, &httpapi.Options{Resume: savingUser(), ContinueChains: true}, func(t *testing.T, d *deserted) {
		var keys []string
		d.answers = func(ctx context.Context, _ int) (int, error) {
			keys = append(keys, idempotent.ChainKey(ctx, "mail"))
			return 201, nil
		}
		d.desert(payment(func(c *httpCall) {
			c.headers = append(c.headers, [2]string{httpapi.ChainHeader, "0123456789abcdef0123456789abcdef:charge"})
		}))
		check.Equal(t, d.resume(), resumed(1))
		check.Contains(t, keys[0], "0123456789abcdef0123456789abcdef:charge")
		check.Equal(t, keys[1], keys[0])
	})
}
