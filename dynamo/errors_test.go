package dynamo

import (
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

func TestErrorsSayWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		answer      wire.Carry
		unavailable bool
		advice      string // a part of it
	}{
		"no table":         {refusing(400, "ResourceNotFoundException", "Requested resource not found"), false, "does not exist"},
		"creating":         {refusing(400, "ResourceInUseException", "busy"), false, "ACTIVE"},
		"key schema":       {refusing(400, "ValidationException", "The provided key element does not match the schema"), false, "expect the partition key \"id\""},
		"missing key":      {refusing(400, "ValidationException", "One or more parameter values were invalid: Missing the key pk in the item"), false, "expect the partition key \"id\""},
		"key type":         {refusing(400, "ValidationException", "Type mismatch for key id expected: N actual: S"), false, "type S"},
		"other validation": {refusing(400, "ValidationException", "else"), false, ""},
		"too large":        {refusing(400, "ValidationException", "Item size has exceeded the maximum allowed size"), false, "400 KB"},
		"access":           {refusing(400, "AccessDeniedException", "User: arn is not authorized"), false, "dynamodb:PutItem"},
		"expired":          {refusing(400, "ExpiredTokenException", "expired"), false, "expired"},
		"invalid token":    {refusing(400, "UnrecognizedClientException", "invalid"), false, "not valid"},
		"clock":            {refusing(400, "RequestTimeTooSkewed", "skewed"), false, "clock"},
		"collection":       {refusing(400, "ItemCollectionSizeLimitExceededException", "10 GB"), false, "Shards"},
		"throttling":       {refusing(400, "ThrottlingException", "slow"), true, "throttled"},
		"throughput":       {refusing(400, "ProvisionedThroughputExceededException", "slow"), true, "throttled"},
		"request limit":    {refusing(400, "RequestLimitExceeded", "slow"), true, "throttled"},
		"limit":            {refusing(400, "LimitExceededException", "slow"), true, "throttled"},
		"429":              {answering(429, "{}"), true, ""},
		"internal":         {refusing(500, "InternalServerError", "oops"), true, "try again"},
		"unavailable":      {refusing(503, "ServiceUnavailable", "oops"), true, "try again"},
		"proxy":            {answering(502, "<html>"), true, ""},
		"no network":       {failing(&net.OpError{Op: "dial", Err: errors.New("refused")}), true, "could not be reached"},
		"cut":              {failing(io.ErrUnexpectedEOF), true, "could not be reached"},
		"timeout":          {failing(context.DeadlineExceeded), true, "deadline"},
		"cancelled":        {failing(context.Canceled), false, "cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, wireClient(c.answer), "records", nil)
			for op, call := range operations {
				ok, err := call(t.Context(), s)
				var e *Error
				if ok || !errors.As(err, &e) || e.Op != op || e.Table != "records" || errors.Unwrap(err) != e.Err {
					t.Fatalf("%s: ok %v, %#v", op, ok, err)
				}
				check.Equal(t, errors.Is(err, driver.ErrUnavailable), c.unavailable, "unavailable is not", op)
				check.Equal(t, errors.Is(err, driver.ErrThrottled), c.advice == "throttled" || name == "429", op)
				check.Equal(t, errors.Is(err, driver.ErrDenied), name == "access", op)
				check.Contains(t, e.Advice, c.advice, op)
				check.Equal(t, errors.Is(err, context.Canceled), name == "cancelled", op)
				check.Lacks(t, err.Error(), "secret-id", "the text holds a key", op)
				check.Lacks(t, err.Error(), owner, op)
			}
		})
	}
}

// operations are the calls that send one request each, by its name.
var operations = map[string]func(context.Context, *Store) (bool, error){
	"PutItem": func(ctx context.Context, s *Store) (bool, error) {
		_, ok, err := s.Create(ctx, claim("secret-id"), now, nil)
		return ok, err
	},
	"GetItem": func(ctx context.Context, s *Store) (bool, error) {
		_, err := s.Get(ctx, "secret-id")
		return false, err
	},
	"DeleteItem": func(ctx context.Context, s *Store) (bool, error) {
		_, ok, err := s.Change(ctx, fence("secret-id"), driver.Change{Release: driver.ReleaseDelete})
		return ok, err
	},
	"UpdateItem": func(ctx context.Context, s *Store) (bool, error) {
		_, ok, err := s.Change(ctx, fence("secret-id"), driver.Change{Lease: now})
		return ok, err
	},
}

func TestEveryThrottleCodeIsThrottling(t *testing.T) {
	for code := range retry.DefaultThrottleErrorCodes {
		s := newStore(t, wireClient(refusing(400, code, "slow")), "records", nil)
		_, err := s.Get(t.Context(), "id")
		check.Is(t, err, driver.ErrUnavailable, code)
		check.Is(t, err, driver.ErrThrottled, code)
	}
}

func TestMissingCredentialsAndRegionAreNotUnavailability(t *testing.T) {
	none := func(o *dynamodb.Options) {
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{}, &net.OpError{Op: "dial", Err: errors.New("no metadata service")}
		})
	}
	nowhere := func(o *dynamodb.Options) { o.Region, o.BaseEndpoint = "", nil }
	for advice, change := range map[string]func(*dynamodb.Options){"credentials": none, "AWS_REGION": nowhere} {
		s := newStore(t, wireClient(answering(200, "{}"), change), "records", nil)
		_, err := s.Get(t.Context(), "id")
		e := check.As[*Error](t, err)
		check.Contains(t, e.Advice, advice)
		check.False(t, errors.Is(err, driver.ErrUnavailable))
	}
}

// The SDK's retry quota ends the retries of an outage.
func TestOutageRemainsOneWithoutRetryQuota(t *testing.T) {
	for want, answer := range map[error]wire.Carry{
		driver.ErrUnavailable: refusing(503, "ServiceUnavailable", "oops"), driver.ErrThrottled: refusing(400, "ThrottlingException", "slow"),
	} {
		n := 0
		count := func(r *wire.Request) (*wire.Response, error) { n++; return answer(r) }
		s := newStore(t, wireClient(count, func(o *dynamodb.Options) { o.Retryer = atOnce() }), "records", nil)
		for range 300 {
			_, err := s.Get(t.Context(), "id")
			check.Is(t, err, want)
		}
		check.True(t, n > 300, n, "requests: the quota was not met")
		check.True(t, n < 900, n)
	}
}

func TestConflictsAreLostRaces(t *testing.T) {
	stored := map[string]types.AttributeValue{"id": text("op#1"), "status": text("INPROGRESS"), "owner": text(rival)}
	for name, conflict := range map[string]error{
		"transaction": &types.TransactionConflictException{}, "region": &types.ReplicatedWriteConflictException{},
	} {
		for call, do := range map[string]func(*Store) (driver.Record, bool, error){
			"create": func(s *Store) (driver.Record, bool, error) { return s.Create(t.Context(), claim("op#1"), now, nil) },
			"delete": func(s *Store) (driver.Record, bool, error) {
				return s.Change(t.Context(), fence("op#1"), driver.Change{Release: driver.ReleaseDelete})
			},
			"step": func(s *Store) (driver.Record, bool, error) {
				return s.Change(t.Context(), fence("op#1"), driver.Change{Steps: map[string][]byte{"a": nil}})
			},
			"finish": func(s *Store) (driver.Record, bool, error) {
				return s.Change(t.Context(), fence("op#1"), driver.Change{Status: driver.Completed})
			},
		} {
			s, client := fakeStore(t, nil, result{err: conflict}, result{item: stored})
			r, ok, err := do(s)
			want := driver.Record{ID: "op#1", Status: driver.InProgress, Owner: rival}
			if ok || err != nil || !reflect.DeepEqual(r, want) || len(client.sent) != 2 || !strings.Contains(client.sent[1], "consistent: true") {
				t.Errorf("%s, %s: %+v, %v, %v; sent %q", name, call, r, ok, err, client.sent)
			}
			s, _ = fakeStore(t, nil, result{err: conflict}, result{err: &types.InternalServerError{}})
			_, ok, err = do(s)
			check.False(t, ok, name, call)
			check.Is(t, err, driver.ErrUnavailable, name, call)
		}
	}
}

// A claim that collides with a transaction reads the record. TTL may not have
// deleted it yet although it has expired.
func TestTransactionConflictDoesNotReplayAnExpiredRecord(t *testing.T) {
	old := map[string]types.AttributeValue{
		"id": text("op#1"), "status": text("COMPLETED"), "owner": text("x"), "attempt": number(1),
		"expiration": seconds(time.Now().Add(-48 * time.Hour)), "data": text(`"of the day before yesterday"`),
	}
	s, _ := fakeStore(t, nil, result{err: &types.TransactionConflictException{}}, result{item: old})
	x := executor(t, s, nil)
	got, err := idempotent.Do(t.Context(), x, idempotent.Key{Record: "op#1"}, func(context.Context) (string, error) { return "today's", nil })
	check.Nil(t, err)
	check.Equal(t, got, "today's")
}

func TestCreateReturnsAnErrorForAnItemThatIsNoRecord(t *testing.T) {
	s, _ := fakeStore(t, nil, result{err: &types.ConditionalCheckFailedException{Item: map[string]types.AttributeValue{"id": text("secret-id")}}})
	_, ok, err := s.Create(t.Context(), claim("secret-id"), now, nil)
	if ok || err == nil || errors.Is(err, driver.ErrUnavailable) || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "status") {
		t.Errorf("%v, %v", ok, err)
	}
}

// An answer without the item does not mean that there is none.
func TestCreateReadsTheRecordThatARefusalOmits(t *testing.T) {
	stored := map[string]types.AttributeValue{"id": text("op#1"), "status": text("COMPLETED")}
	s, client := fakeStore(t, nil, result{err: &types.ConditionalCheckFailedException{}}, result{item: stored})
	r, ok, err := s.Create(t.Context(), claim("op#1"), now, nil)
	check.False(t, ok)
	check.Nil(t, err)
	check.Equal(t, r.Status, driver.Completed)
	check.Equal(t, len(client.sent), 2)
}

// DynamoDB does not say which table is missing, so the error lists all of
// them. A retry would meet the same: the text does not ask for one.
func TestTransactionOnAMissingTableListsItsTables(t *testing.T) {
	s := inOwnTable(t, nil)
	x := executor(t, s, nil)
	_, err := idempotent.Do(t.Context(), x, idempotent.Key{Record: "op#1"}, func(ctx context.Context) (string, error) {
		tx := Collect(ctx)
		tx.Put("no-such-accounts", account{ID: "a"})
		tx.Check("audits", accountKey("b"), If(expression.Name("id").AttributeNotExists()))
		tx.Put("no-such-accounts", account{ID: "c"})
		return "done", nil
	})
	var failed *Error
	tables := []string{"audits", "no-such-accounts", s.table}
	slices.Sort(tables)
	if !errors.As(err, &failed) || !slices.Equal(failed.Tables, tables) {
		t.Fatalf("%v", err)
	}
	for _, want := range append(tables, "does not exist", "create it", "nothing was committed") {
		check.Says(t, err, want)
	}
	check.Lacks(t, err.Error(), "retry", "asks for a retry")
	check.Differ(t, get(t, s, "op#1").Status, driver.Completed, "the record is completed")
}

// A transaction that DynamoDB is too busy for asks for a retry, as before.
func TestBusyTransactionAsksForARetry(t *testing.T) {
	busy := newStore(t, wireClient(refusing(400, "ThrottlingException", "slow")), "records", &Options{Outbox: "outbox"})
	tx := new(Tx)
	tx.Put("accounts", account{ID: "a"})
	tx.Publish(driver.OutboxMessage{Aggregate: "a", Destination: "d"})
	_, _, err := busy.Change(t.Context(), fence("op#1"), completion(frozen(t, tx)))
	rolledBack := &idempotent.StoreError{Op: "commit", RolledBack: true, Err: err}
	check.Says(t, rolledBack, `tables ["accounts" "outbox" "records"]`)
	check.Says(t, rolledBack, "; retry")
}
