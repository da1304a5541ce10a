package linearizability

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
)

// breakage is a store with one guard less.
type breakage struct {
	driver.Store
	breaks func(k kind, stored driver.Record, f *driver.Fence, c *driver.Change)
}

// Change puts into the fence the value that the missing condition would not compare.
func (b breakage) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	stored, err := b.Get(ctx, f.ID)
	if err != nil {
		return stored, false, err
	}
	owner := f.Owner
	b.breaks(kindOf(c), stored, &f, &c)
	r, ok, err := b.Store.Change(ctx, f, c)
	if ok && r.Owner == f.Owner {
		r.Owner = owner // as the caller expects it
	}
	return r, ok, err
}

// unfenced drops the owner from the fence of one kind of write.
func unfenced(of kind) func(kind, driver.Record, *driver.Fence, *driver.Change) {
	return func(k kind, stored driver.Record, f *driver.Fence, _ *driver.Change) {
		if k == of && stored.Owner != "" {
			f.Owner = stored.Owner
		}
	}
}

// forgetful creates a record over one that is not expired, once its lease has
// lapsed.
type forgetful struct{ driver.Store }

func (s forgetful) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	stored, err := s.Get(ctx, r.ID)
	if err == nil && stored.Status == driver.InProgress && stored.Lapsed(cutoff) {
		cutoff = stored.Expires.Add(time.Second)
	}
	return s.Store.Create(ctx, r, cutoff, with)
}

var breakages = []struct {
	name   string
	breaks func(driver.Store) driver.Store
	inDo   bool // the histories of Do show it too
	rare   bool // it shows in one of a hundred histories
}{
	{"a completion without the owner", broken(unfenced(finish)), true, false},
	{"an extension without the owner", broken(unfenced(extend)), false, false},
	{"a step without the owner", broken(unfenced(step)), false, false},
	{"a release without the owner", broken(unfenced(releaseDelete)), true, false},
	{"a takeover without the lease", broken(func(k kind, stored driver.Record, f *driver.Fence, _ *driver.Change) {
		if k == takeOver {
			f.Lease = stored.Lease
		}
	}), false, true},
	{"an extension that moves back", broken(func(k kind, stored driver.Record, _ *driver.Fence, c *driver.Change) {
		if k == extend && !stored.Lease.IsZero() && !c.Lease.After(stored.Lease) {
			c.Lease = stored.Lease.Add(time.Millisecond)
		}
	}), false, false},
	{"a takeover that begins anew", broken(func(k kind, _ driver.Record, _ *driver.Fence, c *driver.Change) {
		if k == takeOver {
			c.Began = c.Lease
		}
	}), false, false},
	{"a finish without its ending", broken(func(k kind, _ driver.Record, _ *driver.Fence, c *driver.Change) {
		if k == finish {
			c.Ended = driver.Ending{}
		}
	}), false, false},
	{"a claim over a live record", func(s driver.Store) driver.Store { return forgetful{s} }, true, false},
}

func broken(breaks func(kind, driver.Record, *driver.Fence, *driver.Change)) func(driver.Store) driver.Store {
	return func(s driver.Store) driver.Store { return breakage{s, breaks} }
}

// A check is worth what it notices.
func TestEveryBreakageIsNoticedInOneRun(t *testing.T) {
	for _, b := range breakages {
		t.Run(b.name, func(t *testing.T) {
			histories := 300
			if b.rare {
				histories = 1200
			}
			r := newRow(t, &Options{InMemory: true, Histories: histories})
			r.run(t, b.breaks(openMemory(t)))
			r.mustNotice(t, b.inDo)
		})
	}
}

// impatient is the store of a resumer that takes every lease for one that has lapsed, and
// takes over whatever lease there is.
type impatient struct{ driver.Store }

func (s impatient) Get(ctx context.Context, id string) (driver.Record, error) {
	r, err := s.Store.Get(ctx, id)
	if leased(r.Lease) {
		r.Lease = r.Lease.Add(-time.Hour)
	}
	return r, err
}

func (s impatient) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if kindOf(c) == takeOver && leased(f.Lease) {
		f.Lease = f.Lease.Add(time.Hour)
	}
	return s.Store.Change(ctx, f, c)
}

func leased(lease time.Time) bool { return !lease.IsZero() && !lease.Equal(driver.LeaseEnded) }

// The store itself is right: only Do shows that its caller is not.
func TestAResumerThatDoesNotWaitIsNoticedInOneRun(t *testing.T) {
	r := newRow(t, &Options{InMemory: true, Histories: 300})
	r.between = func(s driver.Store) driver.Store { return impatient{s} }
	r.run(t, openMemory(t))
	r.mustNotice(t, true)
	for _, v := range r.wrong {
		check.Contains(t, v.what, "Do,", "not a fault of the store")
	}
}

// unfencedClient drops the owner from the condition of updates, in requests of
// their own and in shared ones.
type unfencedClient struct {
	*dynamodb.Client
	update    string // begins the updates to break
	statement *regexp.Regexp
}

func (c unfencedClient) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	condition, fenced := strings.CutPrefix(*in.ConditionExpression, "#owner = :owner AND ")
	if fenced && strings.HasPrefix(*in.UpdateExpression, c.update) {
		broken := *in
		broken.ConditionExpression = &condition
		broken.ExpressionAttributeValues = maps.Clone(in.ExpressionAttributeValues)
		delete(broken.ExpressionAttributeValues, ":owner")
		broken.ExpressionAttributeNames = maps.Clone(in.ExpressionAttributeNames)
		delete(broken.ExpressionAttributeNames, "#owner")
		in = &broken
	}
	return c.Client.UpdateItem(ctx, in, o...)
}

var ownerFence = regexp.MustCompile(` AND "owner" ?= ?\?`)

func (c unfencedClient) BatchExecuteStatement(ctx context.Context, in *dynamodb.BatchExecuteStatementInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error) {
	broken := *in
	broken.Statements = slices.Clone(in.Statements)
	for n, s := range broken.Statements {
		text := *s.Statement
		at := ownerFence.FindStringIndex(text)
		if at == nil || !c.statement.MatchString(text) {
			continue
		}
		owner := strings.Count(text[:at[0]], "?")
		text = text[:at[0]] + text[at[1]:]
		s.Statement, s.Parameters = &text, slices.Delete(slices.Clone(s.Parameters), owner, owner+1)
		broken.Statements[n] = s
	}
	return c.Client.BatchExecuteStatement(ctx, &broken, o...)
}

func TestAWriteToDynamoDBWithoutTheFenceIsNoticedInOneRun(t *testing.T) {
	for _, b := range []struct {
		name, update, statement string
		options                 *dynamo.Options
	}{
		{"a completion", "SET #status = :status", "^$", nil},
		{"an extension", "SET #lease = :lease, #exp = :exp", "^$", nil},
		{"a shared completion", "none", `^UPDATE .* SET "status"`, grouped},
		{"a shared extension", "none", `^UPDATE [^ ]+ SET "in_progress_expiration" ?= ?\? SET`, grouped},
	} {
		t.Run(b.name, func(t *testing.T) {
			client, table := dynamodblocal.NewTable(t)
			s, err := dynamo.New(unfencedClient{client, b.update, regexp.MustCompile(b.statement)}, table, b.options)
			check.Must(t, err)
			r := newRow(t, &Options{Calm: true, Histories: 30, ReadsAfterRefusal: b.options != nil})
			r.run(t, s)
			r.mustNotice(t, false)
		})
	}
}

func (r *row) mustNotice(t *testing.T, inDo bool) {
	t.Helper()
	do := 0
	for _, v := range r.wrong {
		check.Differ(t, v.CheckResult, "Unknown", v)
		if strings.HasPrefix(v.what, "Do,") {
			do++
		}
	}
	t.Logf("%d of %d checks, %d of them of Do", len(r.wrong), r.tally["checks"], do)
	if len(r.wrong) == 0 || inDo && do == 0 {
		t.Errorf("not noticed in %d histories of seed %d", r.Histories, r.seed)
	}
}
