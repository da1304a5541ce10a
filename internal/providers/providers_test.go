package providers_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/providers"
)

// A known request has no effect, whatever its response was. An effect can be undone
// once.
func TestProviders(t *testing.T) {
	p := providers.New()
	send := func(path, key, body string) string {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		return fmt.Sprint(w.Code, strings.TrimSpace(w.Body.String()))
	}
	for _, c := range []struct{ path, key, body, want string }{
		{"/reservations", "a", `{"sku":"cup"}`, `201{"id":"reservations-1"}`},
		{"/reservations", "a", `{"sku":"cup"}`, `201{"id":"reservations-1"}`},
		{"/charges", "a", `{"card":"c"}`, "422"},
		{"/charges", "", `{"card":"c"}`, "400"},
		{"/charges", "b", `{"card":"declined"}`, "402"},
		{"/charges", "b", `{"card":"declined"}`, "402"},
		{"/reservations", "c", `{"sku":"sold-out"}`, "410"},
		{"/charges", "d", `{"card":"c"}`, `201{"id":"charges-2"}`},
		{"/refunds", "e", `{"id":"charges-2"}`, `201{"id":"charges-2"}`},
		{"/refunds", "f", `{"id":"charges-2"}`, "404"},
		{"/releases", "g", `{"id":"nothing"}`, "404"},
		{"/elsewhere", "h", `{}`, "404"},
		{"/charges", "i", `no JSON`, "400the body is no JSON"},
	} {
		check.Equal(t, send(c.path, c.key, c.body), c.want, c.path, c.key)
	}
	want := []providers.Effect{
		{Path: "/reservations", Key: "a", ID: "reservations-1"}, {Path: "/charges", Key: "d", ID: "charges-2"}, {Path: "/refunds", Key: "e", ID: "charges-2"},
	}
	check.Slice(t, p.Effects(), want)
}
