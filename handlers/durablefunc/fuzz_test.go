package durablefunc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/lambda-once/once/idempotent/memory"
)

// FuzzDurable sends a durable function malformed requests, and returns malformed
// responses. Without an error, there is a response that the service knows.
func FuzzDurable(f *testing.F) {
	for _, request := range []string{"durable-request.json", "durable-request-resumed.json", "durable-request-paged.json"} {
		text := golden(f, request)
		for _, response := range []string{pendingResponse, succeededResponse, failedResponse, `{"Status":"SUCCEEDED","Result":""}`, `{"Status":null}`, `[]`} {
			f.Add(text, []byte(response))
		}
		f.Add(bytes.Replace(text, []byte("1795348800000"), []byte("-1e308"), 1), []byte(pendingResponse))
		f.Add(bytes.Replace(text, []byte("EXECUTION"), []byte("STEP"), 1), []byte(pendingResponse))
	}
	f.Fuzz(func(t *testing.T, request, response []byte) {
		handler := sold(t, memory.New(0), func(context.Context, []byte) ([]byte, error) { return response, nil })
		for range 2 {
			got, err := handler(t.Context(), request)
			var r struct{ Status string }
			if err == nil && (json.Unmarshal(got, &r) != nil || r.Status != "PENDING" && r.Status != "SUCCEEDED" && r.Status != "FAILED") {
				t.Fatalf("got %q", got)
			}
		}
	})
}
