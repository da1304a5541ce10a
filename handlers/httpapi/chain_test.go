package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// Any client can send the header, so it means nothing until an API says that
// its clients are its own.
func TestHTTPContinuesChains(t *testing.T) {
	const chain = "0123456789abcdef0123456789abcdef:charge"
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		for _, continues := range []bool{false, true} {
			var sent []string
			s := newSite(t, d, newExecutor(t, memory.New(0), nil), &httpapi.Options{ContinueChains: continues},
				func(ctx context.Context, _ int, _ string) (httpReply, error) {
					sent = append(sent, idempotent.ChainKey(ctx, "mail"))
					return httpReply{status: 201}, nil
				})
			withChain := func(values ...string) httpCall {
				c := keyed(`"k"`)
				for _, value := range values {
					c.headers = append(c.headers, [2]string{httpapi.ChainHeader, value})
				}
				return c
			}
			for range 2 {
				check.Equal(t, s.get(withChain(chain)).status, 201)
			}
			check.Equal(t, strings.HasPrefix(sent[0], chain+":"), continues)
			other := withChain(chain)
			other.user = "eve" // whose key is another, whatever the chain
			check.Equal(t, s.get(other).status, 201)
			s.ran(2)
			for _, values := range [][]string{{""}, {"a b"}, {"a,b"}, {strings.Repeat("a", 1025)}} {
				r := s.get(withChain(values...))
				if !continues {
					check.Equal(t, r.status, 201, values)
				} else if _, detail := isProblem(t, r, 400); !strings.Contains(detail, httpapi.ChainHeader) {
					t.Errorf("%.20q: answers %s", values, r.body)
				}
			}
			s.ran(2)
		}
	})
}

func TestSetChainHeaders(t *testing.T) {
	for name, readable := range map[string]bool{"charge": true, "Gebühr": false, "a, b": false, strings.Repeat("n", 300): false} {
		var got []http.Header
		x := newExecutor(t, memory.New(0), nil)
		for range 2 {
			h := http.Header{"Idempotency-Key": {"another"}}
			_, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(ctx context.Context) (int, error) {
				httpapi.SetChainHeaders(ctx, h, name)
				return 0, errors.New("again")
			})
			if err == nil {
				t.Fatal("no error")
			}
			got = append(got, h)
		}
		key := got[0].Get(httpapi.ChainHeader)
		check.Equal(t, got[0].Get("Idempotency-Key"), `"`+key+`"`, name)
		check.Equal(t, got[1].Get(httpapi.ChainHeader), key, name)
		check.True(t, len(key) <= 255, len(key), name)
		check.Equal(t, strings.HasSuffix(key, ":"+name), readable)
	}
}
