package stored

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/postgres"
	"github.com/lambda-once/once/redis"
	"github.com/lambda-once/once/redis/redislocal"
)

// This version stores when work began, its request, and how it ended. A version before that
// ignores all three: it keeps the first two in a takeover, and leaves the request in a record
// that it finishes, without an ending. A store with other names for them does exactly this, so
// it stands for such a version.

// requesting is a store whose claims have a request.
type requesting struct{ driver.Store }

func (q requesting) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	if r.Status == driver.InProgress {
		r.Request = []byte(`{"amount":42}`)
	}
	return q.Store.Create(ctx, r, cutoff, with)
}

// versions are stores of one table. stored returns the names of what the only record has.
type versions struct {
	now, before driver.Store
	stored      func(ctx context.Context) ([]string, error)
}

func TestVersionBeforeRequestsReadsTheRecordsOfDynamoDB(t *testing.T) {
	readByBoth(t, func(t *testing.T) versions {
		db, table := dynamodblocal.NewTable(t)
		open := func(layout dynamo.Layout) driver.Store {
			s, err := dynamo.New(db, table, &dynamo.Options{Layout: layout})
			check.Must(t, err)
			return s
		}
		return versions{open(dynamo.Layout{}), open(dynamo.Layout{Began: "none", Request: "none-2", Ended: "none-3"}), func(ctx context.Context) ([]string, error) {
			out, err := db.Scan(ctx, &dynamodb.ScanInput{TableName: &table})
			if err != nil {
				return nil, err
			}
			return slices.Collect(maps.Keys(out.Items[0])), nil
		}}
	})
}

func TestVersionBeforeRequestsReadsTheRecordsOfPostgreSQL(t *testing.T) {
	server, err := postgreslocal.Start(t.Context(), nil)
	check.Must(t, err)
	defer func() { check.Must(t, server.Stop()) }()
	t.Setenv("POSTGRESLOCAL_URL", server.URL())
	readByBoth(t, func(t *testing.T) versions {
		pool, err := pgxpool.New(t.Context(), postgreslocal.NewDatabase(t))
		check.Must(t, err)
		t.Cleanup(pool.Close)
		check.Must(t, postgres.CreateTable(t.Context(), pool, "idempotency", nil))
		// A view stands for the table, with three columns of another name for the new ones.
		for _, sql := range []string{
			"ALTER TABLE idempotency ADD COLUMN none timestamptz, ADD COLUMN none_2 bytea, ADD COLUMN none_3 text",
			"CREATE SCHEMA before",
			"CREATE VIEW before.idempotency AS SELECT id, status, owner, attempt, refunds, lease, expires, fingerprint, payload, unavailable, data, steps, " +
				"none AS began, none_2 AS request, none_3 AS ended FROM public.idempotency",
		} {
			_, err = pool.Exec(t.Context(), sql)
			check.Must(t, err)
		}
		open := func(schema string) driver.Store {
			s, err := postgres.New(pool, "idempotency", &postgres.Options{Schema: schema})
			check.Must(t, err)
			return s
		}
		return versions{open("public"), open("before"), func(ctx context.Context) (names []string, err error) {
			err = pool.QueryRow(ctx, "SELECT array(SELECT key FROM jsonb_each_text(to_jsonb(r)) WHERE value IS NOT NULL) FROM idempotency r").Scan(&names)
			return names, err
		}}
	})
}

// readByBoth has each record that this version stores read, taken over and finished by the
// one before, and then replayed by this version.
func readByBoth(t *testing.T, open func(t *testing.T) versions) {
	for name, c := range calls() {
		t.Run(name, func(t *testing.T) {
			v := open(t)
			c.store(t.Context(), t, name, requesting{v.now})
			stored, err := v.stored(t.Context())
			check.Must(t, err)
			check.True(t, slices.Contains(stored, "began"), stored)
			check.Equal(t, slices.Contains(stored, "ended"), !c.cut && c.outcome != idempotent.OutcomeTakeover, stored)
			c.config.Wait = time.Minute // for the lease of a call that was cut
			c.check(t.Context(), t, name, v.before)
			if c.outcome != idempotent.OutcomeTakeover {
				return
			}
			stored, err = v.stored(t.Context())
			check.Must(t, err)
			check.True(t, slices.Contains(stored, "began") && slices.Contains(stored, "request"), stored, "what the version before does not know stays")
			check.False(t, slices.Contains(stored, "ended"), stored, "an ending by a version that knows none")
			c.outcome, c.again = idempotent.OutcomeReplayed, nil
			c.check(t.Context(), t, name, v.now)
		})
	}
}

// The scripts of the version before leave the request, too. Their reader has always
// ignored fields that it does not know.
func TestRequestThatTheVersionBeforeLeavesInRedisIsNoMistake(t *testing.T) {
	db, prefix := redislocal.NewClient(t)
	s, err := redis.New(db, &redis.Options{Prefix: prefix})
	check.Must(t, err)
	encode := base64.StdEncoding.EncodeToString
	text, err := json.Marshal(map[string]string{"": "op#1", "status": encode([]byte("COMPLETED")), "data": encode([]byte("1")),
		"began": encode([]byte("1700000000123")), "request": encode([]byte("{}")), "ended": encode([]byte("of a later version")), "of a later version": encode([]byte("x"))})
	check.Must(t, err)
	check.Must(t, plantHash(t.Context(), db, prefix, text))
	r, err := s.Get(t.Context(), "op#1")
	check.Must(t, err)
	check.Deep(t, r, driver.Record{ID: "op#1", Status: driver.Completed, Data: []byte("1"), Request: []byte("{}"), Began: time.UnixMilli(1700000000123)})
}
