package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// Whatever stands in the header is a key or refused, and is the same one in
// both of its spellings.
func FuzzHTTPKey(f *testing.F) {
	for _, seed := range []string{"", "k", `"k"`, `"a\"b\\c"`, `"k";p=1;q`, `"k";p="a,b"`, `"k";p=@1;q=%"x"`, "a,b", `"`, `"\x"`, "é", " k\t", "8e03978e-40d5-43dd-bc93-6894a57f9324", ":a2V5:", "?1", "1.5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var keys []string
		o := &httpapi.Options{ValidKey: func(key string) error { keys = append(keys, key); return nil }}
		send := func(value string) int {
			w := httptest.NewRecorder()
			r := &http.Request{Method: "POST", URL: httptest.NewRequest("POST", "/", nil).URL, Header: http.Header{"Idempotency-Key": {value}}}
			httpapi.Middleware(newExecutor(t, memory.New(0), nil), httpapi.NoIdentity(), o)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(201)
			})).ServeHTTP(w, r.WithContext(context.Background()))
			return w.Code
		}
		switch send(text) {
		case 400:
			return // refused
		case 201:
		default:
			t.Fatalf("%q: neither taken nor refused", text)
		}
		key := keys[0]
		check.Differ(t, key, "")
		check.True(t, len(key) <= 255, len(key))
		check.False(t, strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }))
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		check.Equal(t, send(quoted), 201)
		check.Equal(t, keys[1], key)
		if bare := strings.Trim(text, " \t"); !strings.HasPrefix(bare, `"`) && bare != key {
			t.Errorf("%q gives the key %q", text, key)
		}
	})
}

// No event makes a handler panic, and a repetition receives a response with the
// same status.
func FuzzHTTPEvent(f *testing.F) {
	for _, g := range goldenEvents {
		f.Add(handlertest.Golden(f, g.name+".json"))
	}
	for _, seed := range []string{`null`, `{}`, `[]`, `{"httpMethod":"POST"}`, `{"httpMethod":"POST","multiValueHeaders":{"idempotency-key":[]}}`,
		`{"httpMethod":"POST","headers":{"idempotency-key":"k"},"path":"/%zz","queryStringParameters":{"%":"%"}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, event []byte) {
		for kind, handler := range eachKind(t, nil) {
			status := 0
			for range 2 {
				out, err := handler.Invoke(context.Background(), event)
				if err != nil {
					break // no JSON of this kind of event
				}
				r, err := parseWire(out)
				if err != nil || r.status < 200 || status != 0 && r.status != status {
					t.Fatalf("%s: got %s, %v, after the status %d", kind, out, err, status)
				}
				status = r.status
			}
		}
	})
}
