package dynamoenv_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/emf"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
)

func TestMain(m *testing.M) {
	if key := os.Getenv("START_KEY"); key != "" {
		serve(key)
	}
	os.Exit(dynamodblocal.Main(m))
}

// One call makes a store that replays.
func TestOpenMakesAStoreFromTheEnvironment(t *testing.T) {
	client, table := dynamodblocal.NewTable(t)
	t.Setenv("AWS_REGION", client.Options().Region)
	t.Setenv("IDEMPOTENCY_TABLE", table)
	store, err := dynamoenv.Open(t.Context(), nil)
	check.Must(t, err)
	x, err := idempotent.New("op", store, nil)
	check.Must(t, err)
	runs := 0
	for range 2 {
		got, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(context.Context) (int, error) {
			runs++
			return runs, nil
		})
		check.Nil(t, err)
		check.Equal(t, got, 1)
	}
	item, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
	check.Nil(t, err)
	check.Equal(t, len(item.Items), 1)
}

// A function with tables of its own has one client for both.
func TestOpenUsesTheClientAndOptionsGiven(t *testing.T) {
	t.Setenv("IDEMPOTENCY_TABLE", "records")
	given := &counting{}
	options := &dynamoenv.Options{Client: given, Store: &dynamo.Options{Layout: dynamo.Layout{ID: "pk"}}}
	store, err := dynamoenv.Open(t.Context(), options)
	check.Must(t, err)
	_, err = store.Get(t.Context(), "op#1")
	check.Must(t, err)
	check.Equal(t, given.table, "records")
	check.Equal(t, given.key, "pk")
}

// The outbox is that of the environment, unless the options name another.
func TestOpenFindsTheOutbox(t *testing.T) {
	t.Setenv("IDEMPOTENCY_TABLE", "records")
	for name, c := range map[string]struct{ env, option, want string }{
		"none":        {"", "", ""},
		"environment": {"messages", "", "messages"},
		"option":      {"messages", "others", "others"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OUTBOX_TABLE", c.env)
			given := &counting{}
			options := &dynamo.Options{Outbox: c.option}
			store, err := dynamoenv.Open(t.Context(), &dynamoenv.Options{Client: given, Store: options})
			check.Must(t, err)
			check.Equal(t, options.Outbox, c.option, "the options given were changed")
			x, err := idempotent.New("op", store, nil)
			check.Must(t, err)
			_, err = idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(ctx context.Context) (int, error) {
				dynamo.Collect(ctx).Publish(driver.OutboxMessage{Aggregate: "a", Destination: "d"})
				return 0, nil
			})
			check.Equal(t, given.outbox, c.want)
			check.Equal(t, err == nil, c.want != "")
		})
	}
}

func TestOpenNamesWhatIsNotSet(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, name := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		t.Setenv(name, none)
	}
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"} {
		t.Setenv(name, "")
	}
	for want, table := range map[string]string{"IDEMPOTENCY_TABLE": "", "AWS_REGION": "records"} {
		t.Setenv("IDEMPOTENCY_TABLE", table)
		store, err := dynamoenv.Open(t.Context(), nil)
		var missing *dynamoenv.NotSetError
		check.True(t, store == nil)
		missing = check.As[*dynamoenv.NotSetError](t, err)
		check.Equal(t, missing.Variable, want)
		check.Is(t, err, dynamoenv.ErrNotSet)
	}
}

// counting is a client that records its calls.
type counting struct {
	dynamo.Client
	table, key, outbox string
}

func (c *counting) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	c.table = *in.TableName
	for name := range in.Key {
		c.key = name
	}
	return &dynamodb.GetItemOutput{}, nil
}

func (c *counting) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, nil
}

func (c *counting) DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return &dynamodb.DeleteItemOutput{}, nil
}

func (c *counting) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return &dynamodb.UpdateItemOutput{}, nil
}

func (c *counting) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	c.outbox = *in.TransactItems[len(in.TransactItems)-1].Put.TableName
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// called returns what a call with the store of the environment writes to standard output,
// and its error.
func called(t *testing.T, client dynamo.Client, shared bool, own func() idempotent.Observer) (out string, failed error) {
	t.Helper()
	t.Setenv("IDEMPOTENCY_TABLE", "records")
	file, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	check.Must(t, err)
	defer func(before *os.File) { os.Stdout = before }(os.Stdout)
	os.Stdout = file
	opened, err := dynamoenv.Open(t.Context(), &dynamoenv.Options{Client: client})
	check.Must(t, err)
	store := driver.Store(opened)
	if shared {
		store, err = opened.Shared(false)
		check.Must(t, err)
	}
	x, err := idempotent.New("op", store, &idempotent.Config{Observer: own()})
	check.Must(t, err)
	_, failed = idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(context.Context) (int, error) { return 1, nil })
	text, err := os.ReadFile(file.Name())
	check.Must(t, errors.Join(err, file.Close()))
	return string(text), failed
}

func none() idempotent.Observer { return nil }

// The variable alone makes a function write the metrics that alarms read, and an
// Observer of its own replaces them: two would count each call twice.
func TestMetricsComeFromTheEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		metrics string
		own     func() idempotent.Observer
		want    int
	}{
		"set":         {"emf", none, 1},
		"not set":     {"", none, 0},
		"an observer": {"emf", func() idempotent.Observer { return idempotent.NoObserver{} }, 0},
		"two lines are one": {"emf", func() idempotent.Observer {
			observer, err := emf.New(nil)
			check.Must(t, err)
			return observer
		}, 1},
	} {
		for _, shared := range []bool{false, true} {
			t.Setenv("ONCE_METRICS", c.metrics)
			out, err := called(t, &counting{}, shared, c.own)
			check.Must(t, err)
			check.Equal(t, strings.Count(out, `"CloudWatchMetrics"`), c.want, name, shared)
		}
	}
}

// Metrics come beside the log lines of a Config without an Observer.
func TestProblemsAreStillLogged(t *testing.T) {
	t.Setenv("ONCE_METRICS", "emf")
	var lines bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&lines, nil)))
	out, err := called(t, &unreachable{}, false, none)
	check.Is(t, err, idempotent.ErrStore)
	check.Contains(t, lines.String(), "level=ERROR")
	check.Contains(t, out, `"StoreErrors":1`)
}

func TestOpenRefusesUnknownMetrics(t *testing.T) {
	t.Setenv("IDEMPOTENCY_TABLE", "records")
	t.Setenv("ONCE_METRICS", "statsd")
	_, err := dynamoenv.Open(t.Context(), &dynamoenv.Options{Client: &counting{}})
	check.Contains(t, check.As[*driver.ConfigError](t, err).Error(), `ONCE_METRICS is "statsd"`)
}

type unreachable struct{ counting }

func (*unreachable) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return nil, &types.ResourceNotFoundException{}
}
