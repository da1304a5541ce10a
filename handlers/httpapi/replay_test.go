package httpapi_test

import (
	"net/http"
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

// A result that a person or another trigger has stored is no response.
func TestForeignRecordIsNoResponse(t *testing.T) {
	for _, data := range []string{`{"statusCode":201,"body":"{}"}`, `{"id":"p1"}`, `null`, `{"status":99}`, `{"status":150}`, `{"status":600}`, `[]`} {
		store := &hooked{Store: memory.New(0)}
		protected, _ := serveHTTP(t, newExecutor(t, store, &idempotent.Config{MaxAttempts: 1}), nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
		_, err := post(t, protected, "k", "")
		check.Must(t, err)
		store.plant(t, func(r *driver.Record) {
			r.Status, r.Data, r.Lease, r.Expires = driver.Completed, []byte(data), time.Time{}, time.Now().Add(time.Hour)
		})
		r, err := post(t, protected, "k", "")
		check.Must(t, err, data)
		isProblem(t, r, 500)
	}
}
