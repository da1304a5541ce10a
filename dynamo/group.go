package dynamo

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo/internal/group"
	"github.com/lambda-once/once/idempotent/driver"
)

// GroupClient is the part of DynamoDB that a [Store] calls besides with
// Options.Group. *dynamodb.Client implements it. A wrapper that embeds the
// client to see or change its calls has to override these two as well.
type GroupClient interface {
	BatchExecuteStatement(context.Context, *dynamodb.BatchExecuteStatementInput, ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
}

// groupLimits returns the limits of shared requests. DynamoDB sets MaxCalls. Far
// larger requests work, but all their calls wait for the largest. With more Patience, calls
// of many callers would wait for each other: with 50 ms, 16 callers with 10 ms to the table
// made half as many calls as alone; with 2 ms, 0.8 of them at least.
func groupLimits(slots int) group.Limits {
	return group.Limits{
		Slots: slots, MaxCalls: 25, MaxSize: 1 << 20, Linger: 2 * time.Millisecond, Patience: 2 * time.Millisecond, Hold: time.Second,
	}
}

// grouping shares requests among the writes of a store, and among its reads. It is
// nil without Options.Group.
type grouping struct {
	store  *Store
	client GroupClient
	table  string // as statements name it
	queue  *group.Queue[*statement, answer]
	off    atomic.Bool // a permission is missing

	readAll bool // reads single refused records too, for tests
}

// An answer is the part of a shared response for one call. Without an answer
// the write goes alone.
type answer struct {
	alone bool
	met   driver.Record
	ok    bool
	err   error
}

func newGrouping(s *Store, client GroupClient, limits group.Limits) *grouping {
	g := &grouping{store: s, client: client, table: `"` + s.table + `"`}
	g.queue = group.New(limits, g.send)
	g.queue.Waited = driver.Waited
	// PartiQL on DynamoDB Local does not find a table by its ARN.
	g.off.Store(strings.Contains(s.table, ":"))
	return g
}

// speaks reports whether a write with this result may share a request.
func (g *grouping) speaks(data []byte) bool { return len(data) <= maxStatementSize && !g.off.Load() }

// arrive reports a write that never shares a request.
func (g *grouping) arrive(ctx context.Context) {
	if g != nil {
		g.queue.Arrive(func() (int, <-chan struct{}) { return driver.Arrive(ctx) })
	}
}

// do sends a statement in a shared request. It calls alone for a nil statement, for
// one without company, and for one that its request did not settle in time. The last
// may be a second copy of a write, as a retry of the SDK is: a claim then meets its own
// owner, and a change its own record.
func (g *grouping) do(ctx context.Context, st *statement, alone func() (driver.Record, bool, error)) (driver.Record, bool, error) {
	if st == nil {
		g.arrive(ctx)
		return alone()
	}
	a, err := g.queue.Do(ctx, st, func() (int, <-chan struct{}) { return driver.Arrive(ctx) }, func() (a answer) {
		a.met, a.ok, a.err = alone()
		return a
	})
	switch {
	case err != nil:
		return driver.Record{}, false, g.store.fail(st.op(), err)
	case a.alone:
		return alone()
	}
	return a.met, a.ok, a.err
}
