package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// Lambda runs several invocations in one process. Eight at a time, each key
// three times: every handler runs once a key, and no response is another's.
func TestHTTPConcurrentInvocations(t *testing.T) {
	const keys, copies, atOnce = 40, 3, 8
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		for name, config := range map[string]*idempotent.Config{
			"refused": nil, "waiting": {Wait: time.Minute}, "cached": {Wait: time.Minute, CacheEntries: 10},
		} {
			t.Run(name, func(t *testing.T) {
				var ran sync.Map
				s := newSite(t, d, newExecutor(t, memory.New(0), config), nil, func(_ context.Context, _ int, body string) (httpReply, error) {
					_, twice := ran.LoadOrStore(body, true)
					check.False(t, twice, "ran twice")
					return httpReply{201, http.Header{"Location": {"/" + body}, "Set-Cookie": {"a=1"}}, body}, nil
				})
				calls := make(chan int)
				var group sync.WaitGroup
				for range atOnce {
					group.Go(func() {
						for i := range calls {
							text := fmt.Sprint("request ", i%keys)
							r, err := s.send(context.Background(), keyed(fmt.Sprint("key-", i%keys)).with(body(text)))
							switch {
							case err != nil:
								t.Error(err)
							case r.status == 409 && config == nil:
							case r.status != 201 || r.body != text || r.headers.Get("Location") != "/"+text:
								t.Errorf("%s got %+v", text, r)
							case (r.headers.Get("Idempotent-Replayed") == "") == (r.headers.Get("Set-Cookie") == ""):
								t.Errorf("%s is neither the first answer nor a repetition: %v", text, r.headers)
							}
						}
					})
				}
				for i := range keys * copies {
					calls <- i / copies // copies come one after the other
				}
				close(calls)
				group.Wait()
				s.ran(keys)
			})
		}
	})
}
