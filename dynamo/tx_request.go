package dynamo

import (
	"crypto/rand"
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/idempotent/driver"
)

// request is a transaction as it is sent. It is built once: DynamoDB accepts a
// token again only with an identical request.
type request struct {
	args   arguments // of the call that it was built for
	input  *dynamodb.TransactWriteItemsInput
	tables []string     // each once, sorted
	own    *recordWrite // nil: without a record
	first  time.Time    // when it was sent first; zero before that
}

// tokenAge is how long a request without a record is sent again. DynamoDB knows
// its token for 10 minutes.
const tokenAge = 9 * time.Minute

// mayBeSent reports whether DynamoDB would recognize an earlier copy of r.
func (r *request) mayBeSent(t *Tx, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.first.IsZero() {
		r.first = now
	}
	return r.own != nil || now.Sub(r.first) < tokenAge
}

// arguments are those of the call that a request is built for, in their stored form.
// Different arguments make a new request, with a token of its own.
type arguments struct {
	store  *Store
	id     string
	record driver.Record // of Create
	cutoff time.Time
	fence  driver.Fence // of Change
	change driver.Change
}

// recordWrite is the record's part of a transaction.
type recordWrite struct {
	leaves driver.Record                   // the record that it leaves
	item   map[string]types.AttributeValue // the same, as far as it is known
	write  func(item map[string]types.AttributeValue) types.TransactWriteItem
}

// request returns the request that was built for these arguments, or builds it.
func (t *Tx) request(a arguments, own *recordWrite) (*request, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.frozen {
		return nil, a.store.refused("Commit", errors.New("the transaction is not frozen; its handler may still add to it"))
	}
	for _, r := range t.requests {
		if reflect.DeepEqual(r.args, a) {
			return r, nil
		}
	}
	r := &request{args: a, own: own}
	if err := r.build(t); err != nil {
		return nil, err
	}
	t.requests = append(t.requests, r)
	return r, nil
}

// withoutResult replaces a request whose result DynamoDB refused.
func (t *Tx) withoutResult(r *request) (*request, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	smaller := &request{args: r.args, own: &recordWrite{leaves: r.own.leaves, item: maps.Clone(r.own.item), write: r.own.write}}
	r.args.store.putUnavailable(smaller.own.item, &smaller.own.leaves)
	if err := smaller.build(t); err != nil {
		return nil, err
	}
	for i := range t.requests {
		if t.requests[i] == r {
			t.requests[i] = smaller
		}
	}
	return smaller, nil
}

// build puts the record's write first.
func (r *request) build(t *Tx) error {
	s := r.args.store
	if s.options.Outbox == "" && len(t.messages) > 0 {
		return &driver.Rejected{Err: &TransactionError{Index: -1, Code: CodeInvalid,
			Err: errors.New("it publishes messages, but Options.Outbox of the store is not set")}}
	}
	var items []types.TransactWriteItem
	total := 0
	if r.own != nil {
		items, r.tables = append(items, r.own.write(r.own.item)), append(r.tables, s.table)
		total = attribute.ItemSize(r.own.item)
	}
	for _, a := range slices.Concat(t.items, t.outboxItems(s.options.Outbox, r.args.id, t.token)) {
		items, r.tables = append(items, a.write), append(r.tables, a.table)
		total += a.size
	}
	if total > maxTransactionBytes {
		return &driver.Rejected{Err: tooLargeTogether(total)}
	}
	slices.Sort(r.tables)
	r.tables = slices.Compact(r.tables)
	token := rand.Text()
	r.input = &dynamodb.TransactWriteItemsInput{ClientRequestToken: &token, TransactItems: items}
	return nil
}

// offset is the number of items before the handler's.
func (r *request) offset() int {
	if r.own == nil {
		return 0
	}
	return 1
}
