package handlers_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/memory"
)

// A repetition gets the fields that are kept as the first client got them, to
// the byte, and gets none that the first did not get.
func TestReplayHasTheHeadersOfTheFirstAnswer(t *testing.T) {
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
			protected, plain := serveHTTP(t, newExecutor(t, memory.New(0), nil), &handlers.HTTPOptions{StoreHeaders: []string{"X-Name"}}, c.handler)
			r, body, err := post(t, plain, "k", "")
			if err != nil || !slices.Equal(r.Header[c.field], c.want) {
				t.Fatalf("net/http itself: %q, %v", r.Header, err)
			}
			for _, mark := range []string{"", "true"} {
				got, gotBody, err := post(t, protected, "k", "")
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got.Header[c.field], c.want) || gotBody != body || got.Header.Get("Idempotent-Replayed") != mark {
					t.Errorf("got %q %s, want %q", got.Header, gotBody, c.want)
				}
			}
		})
	}
}
