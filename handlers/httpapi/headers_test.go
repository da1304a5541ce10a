package httpapi_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// aFullAnswer has fields of every kind.
func aFullAnswer(context.Context, int, string) (httpReply, error) {
	return httpReply{201, http.Header{
		"Content-Type": {"application/json"}, "Location": {"/payments/1"}, "Etag": {`"1"`}, "Access-Control-Allow-Origin": {"https://shop.example"},
		"Set-Cookie": {"session=1; Path=/", "seen=2"}, "Date": {"Sat, 21 Nov 2026 06:00:00 GMT"}, "Last-Modified": {"Sat, 21 Nov 2026 06:00:00 GMT"},
		"Keep-Alive": {"timeout=5"}, "X-Request-Id": {"r-1"},
	}, "\xff\x00 binary \uFFFD"}, nil
}

func TestHTTPStoredHeaders(t *testing.T) {
	everything := []string{"set-cookie", "date", "LAST-MODIFIED", "x-request-id"}
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		for name, c := range map[string]struct {
			options       *httpapi.Options
			kept, dropped []string
		}{
			"by default": {nil, []string{"Content-Type", "Location", "Etag", "Access-Control-Allow-Origin"}, []string{"Set-Cookie", "Last-Modified", "Keep-Alive", "X-Request-Id"}},
			"if asked":   {&httpapi.Options{StoreHeaders: everything}, []string{"Content-Type", "Location", "Set-Cookie", "Date", "Last-Modified", "X-Request-Id"}, []string{"Keep-Alive"}},
		} {
			s := newSite(t, d, newExecutor(t, memory.New(0), nil), c.options, aFullAnswer)
			one, two := s.get(k), s.get(k)
			s.ran(1)
			check.Equal(t, two.status, one.status, name)
			check.Equal(t, two.body, one.body, name)
			check.Equal(t, one.body, "\xff\x00 binary \uFFFD", name)
			for _, field := range append(c.kept, c.dropped...) {
				if one.headers.Get(field) == "" && !(d.name == "Middleware" && field == "Keep-Alive") {
					t.Errorf("%s: the first answer has no %s", name, field)
				}
			}
			for _, field := range c.kept {
				check.Slice(t, two.headers[field], one.headers[field], name)
			}
			for _, field := range c.dropped {
				_, has := two.headers[field]
				check.False(t, has, name, field)
			}
		}
	})
}

func TestProblemsHaveTheDocumentationAsTheirType(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		o := &httpapi.Options{Documentation: "https://docs.example/keys"}
		r := newSite(t, d, newExecutor(t, memory.New(0), nil), o, aFullAnswer).get(keyed())
		title, _ := isProblem(t, r, 400)
		check.Equal(t, title, "Idempotency-Key is missing")
		check.Contains(t, r.body, `"type":"https://docs.example/keys"`)
	})
}

// A response that was stored behind a load balancer without multi-value headers
// is replayed behind one with them, and the other way round.
func TestALBModesShareResponses(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	o := &httpapi.Options{StoreHeaders: []string{"Set-Cookie"}}
	single, multi := newSite(t, httpDrivers[2], x, o, aFullAnswer), newSite(t, httpDrivers[3], x, o, aFullAnswer)
	single.get(k)
	r := multi.get(k)
	check.Equal(t, r.headers.Get("Location"), "/payments/1")
	check.Equal(t, r.headers.Get("Idempotent-Replayed"), "true")
	multi.get(keyed("l"))
	r = single.get(keyed("l"))
	check.Equal(t, r.headers.Get("Location"), "/payments/1")
	check.Equal(t, r.headers.Get("Set-Cookie"), "seen=2")
}

// A repetition receives the stored fields as the first client did, to the byte,
// and no others.
func TestReplayHasTheHeadersOfTheFirstResponse(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		field   string
		want    []string
	}{
		"bytes that are not UTF-8": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", "attachment; filename=\"r\xe9sum\xe9\"")
		}, "Content-Disposition", []string{"attachment; filename=\"r\xe9sum\xe9\""}},
		"some values that are not UTF-8": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Link"] = []string{"<a>", "<\xff>", "<é>"}
		}, "Link", []string{"<a>", "<\xff>", "<é>"}},
		"a field of one's own": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Name", "\xe9")
		}, "X-Name", []string{"\xe9"}},
		"a Content-Type that is set to nil": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = w.Write([]byte("<html>"))
		}, "Content-Type", nil},
		"a Content-Type that is not set": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>"))
		}, "Content-Type", []string{"text/html; charset=utf-8"}},
	} {
		t.Run(name, func(t *testing.T) {
			protected, plain := serveHTTP(t, newExecutor(t, memory.New(0), nil), &httpapi.Options{StoreHeaders: []string{"X-Name"}}, c.handler)
			r, err := post(t, plain, "k", "")
			check.Must(t, err)
			check.Slice(t, r.headers[c.field], c.want, "net/http itself")
			for _, mark := range []string{"", "true"} {
				got, err := post(t, protected, "k", "")
				check.Must(t, err)
				check.Slice(t, got.headers[c.field], c.want)
				check.Equal(t, got.body, r.body)
				check.Equal(t, got.headers.Get("Idempotent-Replayed"), mark)
			}
		})
	}
}
