package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
)

// provider charges orders. It knows the key of a charge for an hour by its own clock, which
// the test moves.
type provider struct {
	mu      sync.Mutex
	now     time.Duration
	keys    map[string]time.Duration // when a key was first seen
	charges map[string]int           // by order
	loses   map[string]bool          // orders whose next answer is lost
}

const providerMemory = time.Hour

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	order, key := string(body), r.Header.Get("Idempotency-Key")
	if seen, known := p.keys[key]; !known || p.now-seen > providerMemory {
		p.keys[key] = p.now
		p.charges[order]++
	}
	loses := p.loses[order]
	delete(p.loses, order)
	p.mu.Unlock()
	if loses {
		panic(http.ErrAbortHandler) // the connection is cut
	}
	w.WriteHeader(http.StatusCreated)
}

func (p *provider) passes(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now += d
}

// charged returns how many orders have at least so many charges.
func (p *provider) charged(least int) (orders int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, charges := range p.charges {
		if charges >= least {
			orders++
		}
	}
	return orders
}

func (p *provider) refund(order string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.charges[order]--
}

// dying is the store of a process that dies before its second write: it ends the goroutine
// of the call.
type dying struct{ driver.Operable }

func (dying) Change(context.Context, driver.Fence, driver.Change) (driver.Record, bool, error) {
	runtime.Goexit()
	return driver.Record{}, false, nil
}

// dies makes a call in a process that dies when it has charged.
func (s *shop) dies(order string) {
	var process sync.WaitGroup
	process.Go(func() {
		_, err := s.charge(dying{s.store}, order)
		s.t.Errorf("%s: the process lives on, with %v", order, err)
	})
	process.Wait()
}

// oneConnection sends each request once: on a connection that was used before, a client
// repeats one with an Idempotency-Key by itself.
var oneConnection = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// shop charges orders at the provider.
type shop struct {
	t        *testing.T
	provider *provider
	url      string
	config   idempotent.Config
	client   *dynamodb.Client
	table    string
	store    driver.Operable
}

func newShop(t *testing.T, memory time.Duration) *shop {
	t.Helper()
	s := &shop{t: t, provider: &provider{keys: map[string]time.Duration{}, charges: map[string]int{}, loses: map[string]bool{}}}
	s.client, s.table = dynamodblocal.NewTable(t)
	store, err := dynamo.New(s.client, s.table, nil)
	check.Must(t, err)
	s.store = store
	server := httptest.NewServer(s.provider)
	t.Cleanup(server.Close)
	s.url = server.URL
	s.config = idempotent.Config{Lease: time.Minute, ProviderMemory: memory, Observer: idempotent.NoObserver{}}
	return s
}

// charge makes the call for an order, and returns how it ended.
func (s *shop) charge(store driver.Store, order string) (idempotent.Outcome, error) {
	x, err := idempotent.New("charge", store, &s.config)
	check.Must(s.t, err)
	ctx, event := adapter.WithEvent(s.t.Context())
	_, err = idempotent.Do(ctx, x, idempotent.Key{ID: order}, func(ctx context.Context) (string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader([]byte(order)))
		if err != nil {
			return "", err
		}
		request.Header.Set("Idempotency-Key", idempotent.DownstreamKey(ctx, "charge"))
		response, err := oneConnection.Do(request)
		if err != nil {
			return "", err
		}
		return "charged", response.Body.Close()
	})
	return event.Outcome, err
}

// each calls do for all orders, some of them at once.
func each(orders []string, do func(order string)) {
	var group sync.WaitGroup
	var next atomic.Int64
	for range 8 {
		group.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(orders); i = next.Add(1) - 1 {
				do(orders[i])
			}
		})
	}
	group.Wait()
}

// passes moves the provider's clock, and the times of the records back: it is as if so
// much time had passed.
func (s *shop) passes(d time.Duration, orders []string) {
	s.t.Helper()
	s.provider.passes(d)
	each(orders, func(order string) {
		r := s.record(order)
		if r.Status != driver.InProgress {
			return
		}
		update := "SET began = began - :d"
		values := map[string]types.AttributeValue{":d": &types.AttributeValueMemberN{Value: fmt.Sprint(d.Milliseconds())}}
		if !r.Lease.Equal(driver.LeaseEnded) {
			update += ", in_progress_expiration = in_progress_expiration - :d"
		}
		_, err := s.client.UpdateItem(s.t.Context(), &dynamodb.UpdateItemInput{
			TableName: &s.table, Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: r.ID}},
			UpdateExpression: aws.String(update), ExpressionAttributeValues: values,
		})
		check.Nil(s.t, err)
	})
}

func (s *shop) record(order string) driver.Record {
	s.t.Helper()
	id, err := idempotent.Key{ID: order}.RecordID("charge")
	check.Must(s.t, err)
	r, err := s.store.Get(s.t.Context(), id)
	check.Must(s.t, err)
	return r
}

// settle is what a person does with a record: "once resolve" or "once release".
func (s *shop) settle(order string, change driver.Change) {
	s.t.Helper()
	entry, err := s.store.Inspect(s.t.Context(), s.record(order).ID)
	check.Must(s.t, err)
	_, ok, err := s.store.Apply(s.t.Context(), entry, change)
	check.Must(s.t, err)
	check.True(s.t, ok, order)
}

// An attempt charges, and its record does not learn of it: its process dies, or the answer
// of the provider is lost and the handler returns an error. The call comes again while the
// provider knows the key, or when it has forgotten it.
func TestProviderThatForgetsChargesNobodyTwice(t *testing.T) {
	t.Parallel()
	const half = 200
	for memory, want := range map[time.Duration]int{providerMemory: 0, 0: half} {
		t.Run(fmt.Sprint("ProviderMemory ", memory), func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			s := newShop(t, memory)
			var all, late []string
			for i := range 2 * half {
				order := fmt.Sprint("crashed-", i)
				if i%2 == 1 {
					order = fmt.Sprint("lost-", i)
					s.provider.loses[order] = true
				}
				if all = append(all, order); i >= half {
					late = append(late, order)
				}
			}
			each(all, func(order string) {
				if order[0] == 'c' {
					s.dies(order)
					return
				}
				_, err := s.charge(s.store, order)
				check.Failed(t, err, order)
			})
			check.Equal(t, s.provider.charged(1), len(all), "orders are charged")

			s.passes(providerMemory/2, all)
			each(all[:half], func(order string) {
				_, err := s.charge(s.store, order)
				check.Nil(t, err, order)
			})
			check.Equal(t, s.provider.charged(2), 0, "within the memory")

			s.passes(72*time.Hour, late)
			var waiting atomic.Int64
			each(late, func(order string) {
				switch outcome, err := s.charge(s.store, order); {
				case outcome == idempotent.OutcomeForgotten:
					check.Is(t, err, idempotent.ErrKeyForgotten, order)
					waiting.Add(1)
				default:
					check.Nil(t, err, order)
				}
			})
			t.Logf("%d doubled charges and %d records that wait for a person, of %d, in %v", s.provider.charged(2), waiting.Load(), len(all), time.Since(began))
			check.Equal(t, s.provider.charged(2), want, "behind the memory")
			check.Equal(t, int(waiting.Load()), half-want)
			if memory > 0 {
				s.settled(late)
			}
		})
	}
}

// settled checks that a person can end all waits.
func (s *shop) settled(late []string) {
	t := s.t
	t.Helper()
	before := s.provider.charged(2)
	each(late, func(order string) {
		if order[0] == 'c' { // the charge is found, and recorded
			s.settle(order, driver.Change{Status: driver.Completed, Owner: driver.OperatorOwner + "1", Expires: time.Now().Add(time.Hour).Truncate(time.Second), Data: []byte(`"found"`)})
			outcome, err := s.charge(s.store, order)
			check.Nil(t, err, order)
			check.Equal(t, outcome, idempotent.OutcomeReplayed)
			return
		}
		// It is paid back, and the order is to be charged again.
		s.provider.refund(order)
		s.settle(order, driver.Change{Release: driver.ReleaseRefund})
		outcome, err := s.charge(s.store, order)
		check.Nil(t, err, order)
		check.True(t, outcome == idempotent.OutcomeTakeover || outcome == idempotent.OutcomeExecuted, outcome)
	})
	check.Equal(t, s.provider.charged(2), before, "after a person has looked")
	check.Equal(t, s.provider.charged(1), 2*len(late))
	for _, order := range late {
		check.Equal(t, s.record(order).Status, driver.Completed, order)
	}
}
