package httpapi_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

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
			r, body, err := post(t, plain, "k", "")
			if err != nil || !slices.Equal(r.Header[c.field], c.want) {
				t.Fatalf("net/http itself: %q, %v", r.Header, err)
			}
			for _, mark := range []string{"", "true"} {
				got, gotBody, err := post(t, protected, "k", "")
				check.Must(t, err)
				check.Slice(t, got.Header[c.field], c.want)
				check.Equal(t, gotBody, body)
				check.Equal(t, got.Header.Get("Idempotent-Replayed"), mark)
			}
		})
	}
}

// A result that a person or another trigger has stored is no response.
func TestForeignRecordIsNoResponse(t *testing.T) {
	for _, data := range []string{`{"statusCode":201,"body":"{}"}`, `{"id":"p1"}`, `null`, `{"status":99}`, `{"status":150}`, `{"status":600}`, `[]`} {
		store := &hooked{Store: memory.New(0)}
		protected, _ := serveHTTP(t, newExecutor(t, store, &idempotent.Config{MaxAttempts: 1}), nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
		if _, _, err := post(t, protected, "k", ""); err != nil {
			t.Fatal(err)
		}
		store.plant(t, func(r *driver.Record) {
			r.Status, r.Data, r.Lease, r.Expires = driver.Completed, []byte(data), time.Time{}, time.Now().Add(time.Hour)
		})
		r, text, err := post(t, protected, "k", "")
		if err != nil {
			t.Errorf("%s: %v", data, err)
			continue
		}
		isProblem(t, httpReply{r.StatusCode, r.Header, text}, 500)
	}
}
