package outbox_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/dynamo/outbox"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/errortypes"
	"github.com/lambda-once/once/internal/outboxitem"
	"github.com/lambda-once/once/local/dynamodblocal"
)

func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(m)) }

// newOutbox is an outbox in a table of its own, and a table of records.
func newOutbox(t *testing.T) (client *dynamodb.Client, records, table string, o *outbox.Outbox) {
	t.Helper()
	client, records = dynamodblocal.NewTable(t)
	table = "outbox-" + rand.Text()
	check.Must(t, outbox.CreateTable(t.Context(), client, table))
	o, err := outbox.New(client, table, nil)
	check.Must(t, err)
	return client, records, table, o
}

// put writes an item.
func put(t *testing.T, client *dynamodb.Client, table string, item map[string]types.AttributeValue) {
	t.Helper()
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
		t.Fatal(err)
	}
}

// pending are the items that no relay has marked.
func pending(t *testing.T, o *outbox.Outbox, before time.Time) []outbox.Item {
	t.Helper()
	var all []outbox.Item
	for item, err := range o.Pending(t.Context(), before) {
		check.Must(t, err)
		all = append(all, item)
	}
	slices.SortFunc(all, func(a, b outbox.Item) int { return strings.Compare(a.Aggregate, b.Aggregate) })
	return all
}

func TestPublish(t *testing.T) {
	client, records, table, o := newOutbox(t)
	s, err := dynamo.New(client, records, &dynamo.Options{Outbox: table})
	check.Must(t, err)
	x, err := idempotent.New("order", s, nil)
	check.Must(t, err)
	errBusy := errors.New("busy")
	first := true
	began := time.Now().Truncate(time.Millisecond)
	order := func() error {
		_, err := idempotent.Do(t.Context(), x, idempotent.Key{Record: "order#1"}, func(ctx context.Context) (string, error) {
			tx := dynamo.Collect(ctx)
			tx.Publish(driver.OutboxMessage{Aggregate: "order-1", Destination: "mail", Type: "placed", Body: []byte{0xff}, Attributes: map[string]string{"a": "b"}})
			tx.Publish(driver.OutboxMessage{Aggregate: "stock-7", Destination: "stock", Body: []byte("x")})
			tx.Publish(driver.OutboxMessage{Aggregate: "order-1", Destination: "mail", Type: "paid"})
			if first {
				first = false
				return "", errBusy
			}
			return "placed", nil
		})
		return err
	}
	if err := order(); err != errBusy {
		t.Fatal(err)
	}
	if got := pending(t, o, time.Now().Add(time.Hour)); len(got) > 0 {
		t.Errorf("a handler that has failed has published %+v", got)
	}
	for range 2 {
		check.Must(t, order())
	}
	got := pending(t, o, time.Now().Add(time.Hour))
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	id, other := got[0].ID, got[1].ID
	if len(id) != 64 || len(other) != 64 || id == other {
		t.Errorf("the ids %q and %q", id, other)
	}
	want := []outbox.Item{
		{Aggregate: "order-1", ID: id, Created: got[0].Created, Messages: []driver.OutboxMessage{
			{ID: id + "-0", Aggregate: "order-1", Destination: "mail", Type: "placed", Body: []byte{0xff}, Attributes: map[string]string{"a": "b"}},
			{ID: id + "-1", Aggregate: "order-1", Destination: "mail", Type: "paid", Body: []byte{}},
		}},
		{Aggregate: "stock-7", ID: other, Created: got[0].Created, Messages: []driver.OutboxMessage{
			{ID: other + "-0", Aggregate: "stock-7", Destination: "stock", Body: []byte("x")},
		}},
	}
	check.Deep(t, got, want)
	if created := got[0].Created; created.Before(began) || created.After(time.Now()) {
		t.Errorf("created %v", created)
	}
	if old := pending(t, o, began); len(old) > 0 {
		t.Errorf("older than the call: %+v", old)
	}

	for range 2 { // the relay may mark again
		check.Must(t, o.Mark(t.Context(), "order-1", id, got[0].Created))
	}
	if rest := pending(t, o, time.Now().Add(time.Hour)); len(rest) != 1 || rest[0].Aggregate != "stock-7" {
		t.Errorf("after the mark: %+v", rest)
	}
	out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table,
		Key: map[string]types.AttributeValue{"aggregate": attribute.Text("order-1"), "id": attribute.Text(id)}})
	check.Must(t, err)
	marked := attribute.PlainItem(out.Item)
	published, _ := marked["published"].(int64)
	expiration, _ := marked["expiration"].(int64)
	if published < began.UnixMilli() || expiration-published/1000 != 24*60*60 {
		t.Errorf("published %d, expiration %d", published, expiration)
	}
}

func TestMarkMakesNoItem(t *testing.T) {
	_, _, _, o := newOutbox(t)
	err := o.Mark(t.Context(), "secret", "id", time.Now())
	var failed *dynamo.Error
	if !errors.Is(err, outbox.ErrNotFound) || !errors.As(err, &failed) || errors.Is(err, driver.ErrUnavailable) || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	if got := pending(t, o, time.Now().Add(time.Hour)); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

// One that expired meanwhile is no failure, and hides none.
func TestMarkAllMarksTheOthersBesideAMissingItem(t *testing.T) {
	client, _, table, o := newOutbox(t)
	created := time.UnixMilli(1_700_000_000_000)
	put(t, client, table, attribute.ItemOf(outboxitem.Item{Aggregate: "a", ID: "id", Created: created,
		Messages: []driver.OutboxMessage{{ID: "id-0", Destination: "d", Body: []byte("{}")}}}.Encode()))
	keys := []driver.OutboxKey{{Aggregate: "gone", ID: "id", Created: created}, {Aggregate: "a", ID: "id", Created: created}}
	check.Nil(t, o.MarkAll(t.Context(), keys))
	if rest := pending(t, o, time.Now()); len(rest) > 0 {
		t.Errorf("%+v", rest)
	}
	check.Failed(t, o.MarkAll(t.Context(), []driver.OutboxKey{{ID: "id", Created: created}, keys[1]}), "an aggregate without a name is marked")
}

// The messages of the later item may not be published yet.
func TestMarkLeavesARewrittenItem(t *testing.T) {
	client, _, table, o := newOutbox(t)
	write := func(body string, created time.Time) outbox.Item {
		t.Helper()
		put(t, client, table, attribute.ItemOf(outboxitem.Item{Aggregate: "a", ID: "id", Created: created,
			Messages: []driver.OutboxMessage{{ID: "id-0", Destination: "d", Body: []byte(body)}}}.Encode()))
		items := pending(t, o, time.Now())
		if len(items) != 1 || string(items[0].Messages[0].Body) != body {
			t.Fatalf("%+v", items)
		}
		return items[0]
	}
	first := write("first", time.UnixMilli(1_700_000_000_000))
	second := write("second", time.UnixMilli(1_700_000_000_001))
	var failed *dynamo.Error
	err := o.Mark(t.Context(), "a", first.ID, first.Created)
	if !errors.Is(err, outbox.ErrNotFound) || !errors.As(err, &failed) || !strings.Contains(failed.Advice, "rewritten") {
		t.Errorf("%v", err)
	}
	check.Deep(t, pending(t, o, time.Now()), []outbox.Item{second}, "after the late mark")
	check.Nil(t, o.Mark(t.Context(), "a", second.ID, second.Created))
	if rest := pending(t, o, time.Now()); len(rest) > 0 {
		t.Errorf("after its own mark: %+v", rest)
	}
}

// refusing is a client whose requests end in this process.
func refusing(code, message string) *dynamodb.Client {
	body := fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":%q}`, code, message)
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String("https://dynamodb.test"), Region: "eu-central-1", Retryer: aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
		HTTPClient: roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 400, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
		}),
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) Do(r *http.Request) (*http.Response, error) { return f(r) }

func TestErrorsSayWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		client *dynamodb.Client
		busy   bool
		advice string
	}{
		"denied":    {refusing("AccessDeniedException", "no"), false, "on the outbox"},
		"throttled": {refusing("ThrottlingException", "slow"), true, "capacity of the outbox"},
		"keys":      {refusing("ValidationException", "The provided key element does not match the schema"), false, `"aggregate"`},
		"no table":  {refusing("ResourceNotFoundException", "no"), false, "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := outbox.New(c.client, "outbox", nil)
			check.Must(t, err)
			advises := func(err error) {
				var failed *dynamo.Error
				if !errors.As(err, &failed) || failed.Table != "outbox" || !strings.Contains(failed.Advice, c.advice) ||
					errors.Is(err, driver.ErrUnavailable) != c.busy {
					t.Errorf("%v", err)
				}
			}
			advises(o.Mark(t.Context(), "a", "id", time.Now()))
			n := 0
			for _, err := range o.Pending(t.Context(), time.Now()) {
				n++
				advises(err)
			}
			check.Equal(t, n, 1, "errors")
		})
	}
}

func TestMistakesInOptionsHaveAnExportedType(t *testing.T) {
	client := refusing("ValidationException", "sent")
	for name, make := range map[string]func() (*outbox.Outbox, error){
		"no client": func() (*outbox.Outbox, error) { return outbox.New(nil, "outbox", nil) },
		"no table":  func() (*outbox.Outbox, error) { return outbox.New(client, "", nil) },
		"retention": func() (*outbox.Outbox, error) {
			return outbox.New(client, "outbox", &outbox.Options{Retention: -1})
		},
		"retention without unit": func() (*outbox.Outbox, error) {
			return outbox.New(client, "outbox", &outbox.Options{Retention: 24})
		},
	} {
		o, err := make()
		if _, ok := err.(*driver.ConfigError); !ok || o != nil {
			t.Errorf("%s: %+v, %T: %v", name, o, err, err)
		}
	}
}

// Step Functions match the name of a type.
func TestEveryErrorThatLeavesHasAnExportedType(t *testing.T) {
	walked, err := errortypes.Parse(".")
	check.Must(t, err)
	for _, fault := range walked.Unexplained(nil) {
		t.Error(fault)
	}
}

func TestCreateTable(t *testing.T) {
	client, records, table, _ := newOutbox(t)
	check.Nil(t, outbox.CreateTable(t.Context(), client, table), "again")
	out, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &table})
	check.Must(t, err)
	if s := out.Table.StreamSpecification; s == nil || !*s.StreamEnabled || s.StreamViewType != types.StreamViewTypeNewImage {
		t.Errorf("%+v", s)
	}
	ttl, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err != nil || aws.ToString(ttl.TimeToLiveDescription.AttributeName) != "expiration" {
		t.Errorf("%+v, %v", ttl, err)
	}
	check.Failed(t, outbox.CreateTable(t.Context(), client, records), "a table with other keys is taken")
	bare := "bare-" + rand.Text()
	check.Must(t, dynamo.CreateTable(t.Context(), client, bare, &dynamo.Options{
		Layout: dynamo.Layout{ID: "aggregate", SortKey: "id"},
	}))
	if err := outbox.CreateTable(t.Context(), client, bare); err == nil || !strings.Contains(err.Error(), "stream") {
		t.Errorf("a table without a stream: %v", err)
	}
}
