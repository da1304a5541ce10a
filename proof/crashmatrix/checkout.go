package crashmatrix

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/internal/kill"
	"github.com/lambda-once/once/internal/providers"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/proof/internal/tables"
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

// The services' paths, of the steps and of their undo functions.
const (
	reserve = "/reservations"
	release = "/releases"
	charge  = "/charges"
	refund  = "/refunds"
)

func (c checkout) world(ctx context.Context, s *stage) (*kill.World, error) {
	w, err := c.set(ctx, s)
	if err != nil {
		return nil, err
	}
	return w.World, nil
}

// set is a world with its tables and services.
type set struct {
	*kill.World
	outboxTables
	services *providers.Providers
}

func (c checkout) set(ctx context.Context, s *stage) (*set, error) {
	t, err := s.outboxTables(ctx)
	if err != nil {
		return nil, err
	}
	if c.exists {
		if _, err := s.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.orders, Item: existing()}); err != nil {
			return nil, err
		}
	}
	services := providers.New()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if c.relents && in.URL.Path == refund {
			// Before the first undo function has run, the reason of the failure goes
			// away: a call that went forward again would succeed.
			if _, err := s.DeleteItem(in.Context(), &dynamodb.DeleteItemInput{TableName: &t.orders, Key: existing()}); err != nil {
				http.Error(out, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		if c.forgetful { // every request is new
			in.Header.Set("Idempotency-Key", rand.Text())
		}
		services.ServeHTTP(out, in)
	}))
	return &set{outboxTables: t, services: services, World: &kill.World{
		Servers: []kill.Server{s.dynamodb(), {Name: "services", Variable: "PROVIDER_URL", URL: server.URL}},
		Env:     []string{"IDEMPOTENCY_TABLE=" + t.records, "ORDERS_TABLE=" + t.orders, "OUTBOX_TABLE=" + t.outbox},
		Event:   fmt.Appendf(nil, `{"orderId":"o-17","customer":"c-1","sku":"cup","quantity":2,"amount":1299,"card":%q}`, c.card),
		Final:   c.final,
		Close:   closing(server),
		Check: func(ctx context.Context, r *kill.Run) (broken, err error) {
			orders, err := s.Items(ctx, t.orders)
			if err != nil {
				return nil, err
			}
			messages, err := s.Items(ctx, t.outbox)
			placed := len(orders)
			if c.exists && !c.relents {
				placed--
			}
			return c.judge(services, placed, len(messages), r), err
		},
	}}, nil
}

// closing returns a function that stops a server of a world.
func closing(s *httptest.Server) func() error {
	return func() error {
		s.Close()
		return nil
	}
}

// existing is the key of the order, and the whole item of one that exists already.
func existing() tables.Item {
	return tables.Item{"id": &types.AttributeValueMemberS{Value: "c-1/o-17"}}
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
func (c checkout) judge(s *providers.Providers, orders, messages int, r *kill.Run) (broken error) {
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
	r.Seen = ""
	for _, path := range []string{reserve, charge, release, refund} {
		n, most := did(s, path), want[path]
		if n+most > 0 {
			r.Seen += fmt.Sprintf("%s %d, ", path[1:], n)
		}
		if c.forgetful && within(r.Point, path) {
			most++
		}
		if n < want[path] || n > most {
			broken = fmt.Errorf("%d %s, want %d", n, path[1:], want[path])
		}
	}
	r.Seen += fmt.Sprintf("orders %d, messages %d", orders, messages)
	if orders != wantOrders || messages != wantOrders {
		broken = fmt.Errorf("%d orders and %d messages, want %d", orders, messages, wantOrders)
	}
	return broken
}

// within reports whether a process that is killed at p has called a service without
// recording it: only the service itself knows of the call then.
func within(p kill.Point, path string) bool {
	post := "POST " + path
	return p.Call.Operation == post && p.At == lambdaruntime.After || p.Behind == post && p.At == lambdaruntime.Before
}
