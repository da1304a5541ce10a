package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo/outbox"
	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

func TestMain(m *testing.M) {
	os.Exit(deployed.Main(func() int { return dynamodblocal.Main(m) }))
}

// provider refunds money once for each Idempotency-Key, and as often as there are keys. A
// refund in held waits until that is closed.
type provider struct {
	mu      sync.Mutex
	ids     map[string]string // by key
	charges map[string]int    // refunds by charge
	held    map[string]hold   // by charge
}

type hold struct{ entered, leave chan struct{} }

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Charge string
		Amount int64
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if body.Amount > 1000 {
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	id, held, ok := p.refund(r.Header.Get("Idempotency-Key"), body.Charge)
	if ok {
		close(held.entered)
		<-held.leave
	}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id":%q}`, id)
}

func (p *provider) refund(key, charge string) (id string, h hold, held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ids[key] == "" {
		p.ids[key] = "re-" + strconv.Itoa(len(p.ids)+1)
		p.charges[charge]++
	}
	h, held = p.held[charge]
	delete(p.held, charge)
	return p.ids[key], h, held
}

func (p *provider) hold(charge string) hold {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := hold{make(chan struct{}), make(chan struct{})}
	p.held[charge] = h
	return h
}

func (p *provider) free(charge string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, charge)
}

func (p *provider) refunds(charge string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.charges[charge]
}

// function is the compiled function behind one of its doors, with tables and a provider
// of its own.
type function struct {
	t *testing.T
	*lambdaruntime.Runtime
	client          *dynamodb.Client
	refunds, outbox string
	env             []string
	provider        *provider
}

func newFunction(t *testing.T, door string) *function {
	t.Helper()
	client, records := dynamodblocal.NewTable(t)
	_, refunds := dynamodblocal.NewTable(t)
	f := &function{t: t, client: client, refunds: refunds, outbox: "outbox-" + records,
		provider: &provider{ids: map[string]string{}, charges: map[string]int{}, held: map[string]hold{}}}
	check.Must(t, outbox.CreateTable(t.Context(), client, f.outbox))
	server := httptest.NewServer(f.provider)
	t.Cleanup(server.Close)
	f.env = []string{"IDEMPOTENCY_TABLE=" + records, "OUTBOX_TABLE=" + f.outbox, "REFUNDS_TABLE=" + refunds, "REFUNDS_DOOR=" + door, "PROVIDER_URL=" + server.URL}
	f.Runtime = deployed.Start(t, lambdaruntime.Function{Name: "refunds-" + door, Environments: 6}, f.env...)
	return f
}

// cut is where a caller loses its connection.
type cut int

const (
	beforeTheCall cut = iota
	duringTheRefund
	beforeTheAnswer
	cuts
)

// cutter cuts the calls of each charge at random, before it lets one through. Each cut is
// an event, and not a time.
type cutter struct {
	*function
	mu   sync.Mutex
	left map[string][]cut
	done int
}

func newCutter(f *function, charges []string, each int) *cutter {
	c := &cutter{function: f, left: map[string][]cut{}}
	seed := rand.Uint64()
	f.t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, charge := range charges {
		for range each {
			c.left[charge] = append(c.left[charge], cut(random.IntN(int(cuts))))
		}
	}
	return c
}

func (c *cutter) next(charge string) (where cut, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.left[charge]) == 0 {
		return 0, false
	}
	where, c.left[charge] = c.left[charge][0], c.left[charge][1:]
	c.done++
	return where, true
}

// call invokes the function, and reports false if the caller's connection is cut.
func (c *cutter) call(ctx context.Context, charge string, payload []byte) (lambdaruntime.Response, bool) {
	// The invocation continues when its caller is gone.
	ctx = context.WithoutCancel(ctx)
	where, cutOff := c.next(charge)
	var h hold
	switch {
	case cutOff && where == beforeTheCall:
		return lambdaruntime.Response{}, false
	case cutOff && where == duringTheRefund:
		h = c.provider.hold(charge)
	}
	answered := make(chan lambdaruntime.Response, 1)
	go func() {
		r, err := c.Invoke(ctx, payload)
		check.Nil(c.t, err)
		check.True(c.t, r.FunctionError == nil, "the function failed", r.FunctionError)
		answered <- r
	}()
	if cutOff && where == duringTheRefund {
		select {
		case <-h.entered:
			close(h.leave)
		case <-answered: // of a replay, or of a call that meets a running one
			c.provider.free(charge)
		}
		return lambdaruntime.Response{}, false
	}
	r := <-answered
	return r, !cutOff
}

// once checks what has happened to all charges: one refund, one item and one message. It
// returns the result of each.
func (c *cutter) once(charges []string, cutOff int) map[string]refunded {
	c.t.Helper()
	check.Equal(c.t, c.done, cutOff, "cuts")
	results := map[string]refunded{}
	items := deployed.Items(c.t, c.client, c.refunds)
	for _, item := range items {
		var r refunded
		check.Must(c.t, attributevalue.UnmarshalMap(item, &r))
		results[r.Charge] = r
	}
	for _, charge := range charges {
		check.Equal(c.t, c.provider.refunds(charge), 1, "refunds of", charge)
	}
	check.Equal(c.t, len(items), len(charges), "items")
	check.Equal(c.t, len(results), len(charges), "charges with an item")
	check.Equal(c.t, len(deployed.Items(c.t, c.client, c.outbox)), len(charges), "messages")
	return results
}

func chargesOf(n int) (charges []string) {
	for i := range n {
		charges = append(charges, fmt.Sprintf("ch-%d", i))
	}
	return charges
}
