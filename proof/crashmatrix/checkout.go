package crashmatrix

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/local/kill"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/providers"
)

// checkout is one order in examples/checkout: two steps at external services, each
// with its undo function, and a transaction with a message.
type checkout struct {
	forgetful bool   // services
	card      string // providers.Declined: the second step fails for good
	exists    bool   // the order exists already: the transaction is rejected
	relents   bool   // the order is deleted when undoing has begun
	failure   string // the type of the error that is the answer; empty for a receipt
}

// The services' paths: what the steps do, and what undoes them.
const (
	reserve = "/reservations"
	release = "/releases"
	charge  = "/charges"
	refund  = "/refunds"
)

func (c checkout) world(ctx context.Context, s *stage) (_ *world, err error) {
	t, err := s.outboxTables(ctx)
	if err != nil {
		return nil, err
	}
	if c.exists {
		if _, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.orders, Item: existing()}); err != nil {
			return nil, err
		}
	}
	services := providers.New()
	url, end, err := serve(c.relenting(s, t.orders, c.memory(services)))
	if err != nil {
		return nil, err
	}
	return &world{
		servers: []kill.Server{s.dynamodb(), {Name: "services", Variable: "PROVIDER_URL", URL: url}},
		env: []string{
			"IDEMPOTENCY_TABLE=" + t.records, "ORDERS_TABLE=" + t.orders, "OUTBOX_TABLE=" + t.outbox,
		},
		event: fmt.Appendf(nil, `{"orderId":"o-17","customer":"c-1","sku":"cup","quantity":2,"amount":1299,"card":%q}`, c.card),
		final: c.final,
		count: func(ctx context.Context, p point) (effects, error) {
			orders, err := s.items(ctx, t.orders)
			if err != nil {
				return effects{}, err
			}
			messages, err := s.items(ctx, t.outbox)
			if err != nil {
				return effects{}, err
			}
			placed := len(orders)
			if c.exists && !c.relents {
				placed--
			}
			return c.judge(services, placed, len(messages), p), nil
		},
		close: end,
	}, nil
}

// relenting removes the reason of the failure before the first undo function has
// run: a call that went forward again would succeed.
func (c checkout) relenting(s *stage, orders string, services http.Handler) http.Handler {
	if !c.relents {
		return services
	}
	return http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if in.URL.Path == refund {
			if _, err := s.client.DeleteItem(in.Context(), &dynamodb.DeleteItemInput{TableName: &orders, Key: existing()}); err != nil {
				http.Error(out, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		services.ServeHTTP(out, in)
	})
}

// existing is the key of the order, and the whole item of one that exists already.
func existing() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "c-1/o-17"}}
}

// memory makes forgetful services treat every request as new.
func (c checkout) memory(services http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if c.forgetful {
			in.Header.Set("Idempotency-Key", rand.Text())
		}
		services.ServeHTTP(out, in)
	})
}

// did returns how often the services have done something.
func did(services *providers.Providers, path string) (n int) {
	for _, e := range services.Effects() {
		if e.Path == path {
			n++
		}
	}
	return n
}

func (c checkout) final(r lambdaruntime.Response) bool {
	// A success that should be none is an answer, and judged.
	return succeeded(r) || c.failure != "" && r.FunctionError.Type == c.failure
}

// judge requires that everything was done, or that everything was undone.
func (c checkout) judge(s *providers.Providers, orders, messages int, p point) effects {
	want := map[string]int{reserve: 1, charge: 1}
	wantOrders := 1
	if c.failure != "" {
		wantOrders = 0
		want[release] = 1
		want[refund] = 1
		if c.card == providers.Declined {
			want[charge], want[refund] = 0, 0
		}
	}
	var e effects
	for _, path := range []string{reserve, charge, release, refund} {
		n, most := did(s, path), want[path]
		if n+most > 0 {
			e.seen += fmt.Sprintf("%s %d, ", path[1:], n)
		}
		if c.forgetful && p.within(path) {
			most++
		}
		if n < want[path] || n > most {
			e.wrong = fmt.Sprintf("%d %s, want %d", n, path[1:], want[path])
		}
	}
	e.seen += fmt.Sprintf("orders %d, messages %d", orders, messages)
	if orders != wantOrders || messages != wantOrders {
		e.wrong = fmt.Sprintf("%d orders and %d messages, want %d", orders, messages, wantOrders)
	}
	return e
}

// within reports whether a process that is killed at p has called a service without
// recording it: only the service itself knows of the call then.
func (p point) within(path string) bool {
	post := "POST " + path
	return p.call.Operation == post && p.at == lambdaruntime.After || p.behind == post && p.at == lambdaruntime.Before
}
