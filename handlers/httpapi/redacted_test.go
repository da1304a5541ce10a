package httpapi_test

import (
	"context"
	"testing"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

func TestRedactedRequestIsAProblemAndRunsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
		says   string
	}{
		"completed": {status: 201, says: "This request was carried out, but its response has been deleted."},
		"failed":    {&httpapi.StatusError{Status: 402, Detail: "of Ada's card"}, 402, "This request failed permanently, and its response has been deleted."},
	} {
		t.Run(name, func(t *testing.T) {
			forEachHTTP(t, func(t *testing.T, d httpDriver) {
				store := memory.New(0)
				s := newSite(t, d, newExecutor(t, store, nil), nil, func(context.Context, int, string) (httpReply, error) {
					return httpReply{status: 201, body: "of Ada"}, c.err
				})
				check.Equal(t, s.get(k).status, c.status)
				page, err := store.Scan(t.Context(), driver.Filter{}, "")
				check.Must(t, err)
				e := page.Entries[0]
				_, ok, err := store.Apply(t.Context(), e, e.Redaction("ann", "request 7"))
				check.Must(t, err)
				check.True(t, ok)
				_, detail := isProblem(t, s.get(k), 500)
				check.Contains(t, detail, c.says)
				s.ran(1)
			})
		})
	}
}
