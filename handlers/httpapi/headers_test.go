package httpapi_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent/memory"
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
			if two.status != one.status || two.body != one.body || one.body != "\xff\x00 binary \uFFFD" {
				t.Errorf("%s: got %d %q, first %d %q", name, two.status, two.body, one.status, one.body)
			}
			for _, field := range append(c.kept, c.dropped...) {
				if one.headers.Get(field) == "" && !(d.name == "Middleware" && field == "Keep-Alive") {
					t.Errorf("%s: the first answer has no %s", name, field)
				}
			}
			for _, field := range c.kept {
				if !slices.Equal(two.headers[field], one.headers[field]) {
					t.Errorf("%s: replayed %s is %q, first %q", name, field, two.headers[field], one.headers[field])
				}
			}
			for _, field := range c.dropped {
				if got, has := two.headers[field]; has {
					t.Errorf("%s: replayed %s: %q", name, field, got)
				}
			}
		}
	})
}

func TestHTTPReplayHeader(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		o := &httpapi.Options{ReplayHeader: "x-replayed", Documentation: "https://docs.example/keys"}
		s := newSite(t, d, newExecutor(t, memory.New(0), nil), o, aFullAnswer)
		s.get(k)
		if two := s.get(k); two.headers.Get("X-Replayed") != "true" || two.headers.Get("Idempotent-Replayed") != "" {
			t.Errorf("got %v", two.headers)
		}
		r := s.get(keyed())
		if title, _ := isProblem(t, r, 400); title != "Idempotency-Key is missing" || !strings.Contains(r.body, `"type":"https://docs.example/keys"`) {
			t.Errorf("got %s", r.body)
		}
	})
}

// A response that was stored behind a load balancer without multi-value headers
// is replayed behind one with them, and the other way round.
func TestALBModesShareResponses(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	o := &httpapi.Options{StoreHeaders: []string{"Set-Cookie"}}
	single, multi := newSite(t, httpDrivers[2], x, o, aFullAnswer), newSite(t, httpDrivers[3], x, o, aFullAnswer)
	single.get(k)
	if r := multi.get(k); r.headers.Get("Location") != "/payments/1" || r.headers.Get("Idempotent-Replayed") != "true" {
		t.Errorf("got %v", r.headers)
	}
	multi.get(keyed("l"))
	if r := single.get(keyed("l")); r.headers.Get("Location") != "/payments/1" || r.headers.Get("Set-Cookie") != "seen=2" {
		t.Errorf("got %v", r.headers)
	}
}
