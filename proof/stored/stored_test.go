package stored

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/jackc/pgx/v5/pgxpool"
	client "github.com/redis/go-redis/v9"

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

var release = flag.String("write", "", "a release, such as v0.1.0, whose test data is written by this version")

func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(m)) }

// database is one kind of store with access to its stored records.
type database struct {
	store driver.Store
	read  func(ctx context.Context) ([]byte, error) // the only record
	plant func(ctx context.Context, text []byte) error
	sent  *sent
}

func TestStoredRecordsOfDynamoDB(t *testing.T) {
	each(t, "dynamodb", func(t *testing.T) database {
		db, table := dynamodblocal.NewTable(t)
		texts := &sent{}
		s, err := dynamo.New(dynamodb.New(db.Options(), texts.requests), table, nil)
		check.Must(t, err)
		return database{sent: texts, store: s, read: func(ctx context.Context) ([]byte, error) {
			out, err := db.Scan(ctx, &dynamodb.ScanInput{TableName: &table})
			if err != nil {
				return nil, err
			}
			return json.Marshal(plain(out.Items[0]))
		}, plant: func(ctx context.Context, text []byte) error {
			var item map[string]attribute
			if err := json.Unmarshal(text, &item); err != nil {
				return err
			}
			_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: values(item)})
			return err
		}}
	})
}

func TestStoredRecordsOfPostgreSQL(t *testing.T) {
	server, err := postgreslocal.Start(t.Context(), nil)
	check.Must(t, err)
	defer func() { check.Must(t, server.Stop()) }()
	t.Setenv("POSTGRESLOCAL_URL", server.URL())
	each(t, "postgresql", func(t *testing.T) database {
		config, err := pgxpool.ParseConfig(postgreslocal.NewDatabase(t))
		check.Must(t, err)
		texts := &sent{}
		config.ConnConfig.Tracer = texts
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		check.Must(t, err)
		t.Cleanup(pool.Close)
		check.Must(t, postgres.CreateTable(t.Context(), pool, "idempotency", nil))
		s, err := postgres.New(pool, "idempotency", nil)
		check.Must(t, err)
		return database{sent: texts, store: s, read: func(ctx context.Context) (text []byte, err error) {
			err = pool.QueryRow(ctx, "SELECT to_jsonb(r) FROM idempotency r").Scan(&text)
			return text, err
		}, plant: func(ctx context.Context, text []byte) error {
			_, err := pool.Exec(ctx, "INSERT INTO idempotency SELECT * FROM jsonb_populate_record(NULL::idempotency, $1)", text)
			return err
		}}
	})
}

func TestStoredRecordsOfRedis(t *testing.T) {
	each(t, "redis", func(t *testing.T) database {
		db, prefix := redislocal.NewClient(t)
		check.Must(t, db.ScriptFlush(t.Context()).Err()) // each script is sent once
		texts := &sent{}
		db.AddHook(texts)
		s, err := redis.New(db, &redis.Options{Prefix: prefix})
		check.Must(t, err)
		return database{sent: texts, store: s, read: func(ctx context.Context) ([]byte, error) {
			names, err := db.Keys(ctx, prefix+"*").Result()
			if err != nil {
				return nil, err
			}
			fields, err := db.HGetAll(ctx, names[0]).Result()
			if err != nil {
				return nil, err
			}
			encoded := map[string]string{"": names[0][len(prefix):]}
			for name, value := range fields {
				encoded[name] = base64.StdEncoding.EncodeToString([]byte(value))
			}
			return json.Marshal(encoded)
		}, plant: func(ctx context.Context, text []byte) error { return plantHash(ctx, db, prefix, text) }}
	})
}

func plantHash(ctx context.Context, db *client.Client, prefix string, text []byte) error {
	var fields map[string]string
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	for name, value := range fields {
		if name == "" {
			continue
		}
		data, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return err
		}
		if err := db.HSet(ctx, prefix+fields[""], name, data).Err(); err != nil {
			return err
		}
	}
	return nil
}

// each plants every record of every release, and makes its call again. A file has the
// records that a release stores in a kind of store, by the names of their calls.
func each(t *testing.T, kind string, open func(t *testing.T) database) {
	if *release != "" {
		write(t, filepath.Join("testdata", *release, kind), open)
	}
	files, err := filepath.Glob(filepath.Join("testdata", "v*", kind+".json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no test data", err)
	}
	all := calls()
	for _, file := range files {
		version := filepath.Base(filepath.Dir(file))
		text, err := os.ReadFile(file)
		check.Must(t, err)
		var records map[string]json.RawMessage
		check.Must(t, json.Unmarshal(text, &records))
		for name, c := range all {
			t.Run(version+" "+name, func(t *testing.T) {
				record, ok := records[name]
				if !ok && version != "v0.1.0" {
					return // a later release has this form first
				}
				db := open(t)
				check.Must(t, db.plant(t.Context(), record))
				c.check(t.Context(), t, name, db.store)
				if !c.cut && c.again == nil {
					redact(t, name, c, record, open(t))
				}
				if name == "completed" {
					refuse(t, record, open(t))
				}
			})
		}
	}
}

// A later release gives records that this version cannot read a status of their own.
func refuse(t *testing.T, text []byte, db database) {
	t.Helper()
	text = bytes.ReplaceAll(text, []byte("COMPLETED"), []byte("COMPLETED-2"))
	encode := base64.StdEncoding.EncodeToString
	text = bytes.ReplaceAll(text, []byte(encode([]byte("COMPLETED"))), []byte(encode([]byte("COMPLETED-2"))))
	check.Must(t, db.plant(t.Context(), text))
	call{outcome: idempotent.OutcomeFailed, err: idempotent.ErrStore}.check(t.Context(), t, "completed", db.store)
}

// write stores the records of all calls in one file, and what they send in the other.
func write(t *testing.T, name string, open func(t *testing.T) database) {
	records, requests := map[string]json.RawMessage{}, map[string][]string{}
	for name, c := range calls() {
		t.Run("write "+name, func(t *testing.T) {
			db := open(t)
			c.store(t.Context(), t, name, db.store)
			record, err := db.read(t.Context())
			check.Must(t, err)
			c.config.Wait = time.Minute // for the lease of a call that was cut
			c.check(t.Context(), t, name, db.store)
			records[name], requests[name] = record, db.sent.texts()
		})
	}
	check.Must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	for ending, content := range map[string]any{".json": records, sentEnding: requests} {
		text, err := json.MarshalIndent(content, "", "\t")
		check.Must(t, err)
		check.Must(t, os.WriteFile(name+ending, append(text, '\n'), 0o644))
	}
}

// attribute is an attribute value as in DynamoDB's JSON.
type attribute struct {
	S *string              `json:",omitempty"`
	N *string              `json:",omitempty"`
	B []byte               `json:",omitempty"`
	M map[string]attribute `json:",omitempty"`
	// Empty tells the empty map from none.
	Empty bool `json:",omitempty"`
}

func plain(item map[string]types.AttributeValue) map[string]attribute {
	all := map[string]attribute{}
	for name, v := range item {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			all[name] = attribute{S: &v.Value}
		case *types.AttributeValueMemberN:
			all[name] = attribute{N: &v.Value}
		case *types.AttributeValueMemberB:
			all[name] = attribute{B: v.Value}
		case *types.AttributeValueMemberM:
			all[name] = attribute{M: plain(v.Value), Empty: len(v.Value) == 0}
		default:
			panic("an attribute of another type")
		}
	}
	return all
}

func values(all map[string]attribute) map[string]types.AttributeValue {
	item := map[string]types.AttributeValue{}
	for name, v := range all {
		switch {
		case v.S != nil:
			item[name] = &types.AttributeValueMemberS{Value: *v.S}
		case v.N != nil:
			item[name] = &types.AttributeValueMemberN{Value: *v.N}
		case v.M != nil || v.Empty:
			item[name] = &types.AttributeValueMemberM{Value: values(v.M)}
		default:
			item[name] = &types.AttributeValueMemberB{Value: v.B}
		}
	}
	return item
}
