package httpapi_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// serveHTTP serves one handler of net/http, protected and not.
func serveHTTP(t *testing.T, x *idempotent.Executor, o *httpapi.Options, handler http.HandlerFunc) (protected, plain *httptest.Server) {
	t.Helper()
	return serve(t, httpapi.Middleware(x, httpapi.NoIdentity(), o)(handler)), serve(t, handler)
}

func serve(t testing.TB, handler http.Handler) *httptest.Server {
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = silent()
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// post sends a request, without a key if it is "".
func post(t *testing.T, server *httptest.Server, key, body string) (httpReply, error) {
	t.Helper()
	c := httpCall{path: "/a%2Fb", query: "q=1", body: body}
	if key != "" {
		c.headers = keyed(key).headers
	}
	return sendTo(t.Context(), server, c)
}

// What a first client gets through the middleware is what net/http would have
// given it, and so are statuses and bodies of repetitions.
func TestMiddlewareRespondsAsNetHTTP(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"nothing":              func(http.ResponseWriter, *http.Request) {},
		"an implicit 200":      func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"two statuses":         func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201); w.WriteHeader(202) },
		"a status after bytes": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a"); w.WriteHeader(202) },
		"a field too late": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(201)
			w.Header().Set("Location", "/late")
		},
		"early hints": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(201) },
		"a length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			fmt.Fprint(w, "ab")
		},
		"more than its length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			_, one := io.WriteString(w, "ab")
			_, two := io.WriteString(w, "c")
			if one != nil || !errors.Is(two, http.ErrContentLength) {
				panic(fmt.Sprint(one, two))
			}
		},
		"a body where there is none": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(204)
			if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrBodyNotAllowed) {
				panic(err)
			}
		},
		"bytes that are no text": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0, 0xff, 0xfe, 0}) },
		"the request": func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			fmt.Fprint(w, r.Method, r.URL.RequestURI(), r.ContentLength, r.TransferEncoding, string(body), err, r.Body.Close())
		},
		"a form": func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.FormValue("q")) },
	} {
		t.Run(name, func(t *testing.T) {
			protected, plain := serveHTTP(t, newExecutor(t, memory.New(0), nil), nil, handler)
			want, err := post(t, plain, "k", "body")
			check.Must(t, err)
			for _, mark := range []string{"", "true"} {
				got, err := post(t, protected, "k", "body")
				check.Must(t, err)
				isReply(t, got, want.status, want.body, mark)
				for _, field := range []string{"Content-Length", "Content-Type", "Location"} {
					check.Slice(t, got.headers[field], want.headers[field], field)
				}
			}
		})
	}
}

// Fields that are set around the middleware are in every response, and the
// handler can take them away.
func TestMiddlewareWorksWithinOthers(t *testing.T) {
	protect := httpapi.Middleware(newExecutor(t, memory.New(0), nil), httpapi.NoIdentity(), &httpapi.Options{MaxResponseBytes: 10})
	inner := protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Del("X-Taken")
		if r.URL.Path == "/large" {
			fmt.Fprint(w, strings.Repeat("x", 11))
		}
	}))
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		w.Header().Set("X-Taken", "yes")
		inner.ServeHTTP(w, r)
	}))
	for i, c := range []struct{ path, key, taken string }{
		{"/", "k", ""}, {"/", "k", "yes"}, {"/", "", "yes"}, {"/large", "l", "yes"}, {"/large", "l", "yes"},
	} {
		origin := fmt.Sprint("https://", i)
		r, err := sendTo(t.Context(), server, httpCall{path: c.path, headers: [][2]string{{"Origin", origin}, {"Idempotency-Key", c.key}}})
		check.Must(t, err)
		check.Equal(t, r.headers.Get("Access-Control-Allow-Origin"), origin, i)
		check.Equal(t, r.headers.Get("X-Taken"), c.taken, i)
	}
}

// What is not protected goes through, streams, upgrades and all.
func TestMiddlewarePassesUnprotectedRequests(t *testing.T) {
	goOn := make(chan struct{})
	protected, _ := serveHTTP(t, newExecutor(t, memory.New(0), nil), nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Method", r.Method)
		fmt.Fprintln(w, "first")
		check.Nil(t, http.NewResponseController(w).Flush())
		<-goOn
		fmt.Fprintln(w, "second")
	})
	r, err := http.NewRequestWithContext(t.Context(), "GET", protected.URL, nil)
	check.Must(t, err)
	answer, err := protected.Client().Do(r)
	check.Must(t, err)
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	line, err := lines.ReadString('\n')
	check.Nil(t, err)
	check.Equal(t, line, "first\n")
	close(goOn)
	line, err = lines.ReadString('\n')
	check.Nil(t, err)
	check.Equal(t, line, "second\n")
	for _, method := range []string{"HEAD", "OPTIONS"} {
		r, err := sendTo(t.Context(), protected, httpCall{method: method})
		check.Must(t, err)
		check.Equal(t, r.status, 200)
		check.Equal(t, r.headers.Get("X-Method"), method)
	}
}
