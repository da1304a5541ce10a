package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/serving"
	"github.com/lambda-once/once/internal/wire"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/postgres"
)

func TestMain(m *testing.M) {
	withDynamoDB := serving.Tests(func() int { return dynamodblocal.Main(m) })
	os.Exit(deployed.Main(func() int { return postgreslocal.Main(withDynamoDB) }))
}

// expired is the number of expired records in each store: five pages of DynamoDB with
// large records, and three of PostgreSQL.
const expired = 1200

// newTable returns a table without time to live, with expired records and a live one.
func newTable(t *testing.T) (client *dynamodb.Client, table string) {
	t.Helper()
	client, table = dynamodblocal.NewTable(t)
	off := &types.TimeToLiveSpecification{AttributeName: aws.String("expiration"), Enabled: aws.Bool(false)}
	_, err := client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: &table, TimeToLiveSpecification: off})
	check.Must(t, err)
	old := strconv.FormatInt(time.Now().Add(-2*time.Hour).Unix(), 10)
	put := func(id, expiration string) types.WriteRequest {
		return types.WriteRequest{PutRequest: &types.PutRequest{Item: map[string]types.AttributeValue{
			"id": &types.AttributeValueMemberS{Value: id}, "status": &types.AttributeValueMemberS{Value: "COMPLETED"},
			"expiration": &types.AttributeValueMemberN{Value: expiration},
			"data":       &types.AttributeValueMemberS{Value: strings.Repeat("x", 4000)},
		}}}
	}
	requests := []types.WriteRequest{put("pay#live", strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10))}
	for i := range expired {
		requests = append(requests, put(fmt.Sprintf("pay#%d", i), old))
	}
	for len(requests) > 0 {
		n := min(len(requests), 25)
		out, err := client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: requests[:n]}})
		if err != nil || len(out.UnprocessedItems) > 0 {
			t.Fatalf("%v, %v", out, err)
		}
		requests = requests[n:]
	}
	return client, table
}

// databases have expired records and a live one. Each returns the environment of a function on
// it, and what it has later.
var databases = map[string]func(t *testing.T) (env []string, has func() string){
	"DynamoDB": func(t *testing.T) ([]string, func() string) {
		client, table := newTable(t)
		return []string{"IDEMPOTENCY_TABLE=" + table}, func() string { return fmt.Sprint(left(t, client, table)) }
	},
	"PostgreSQL": func(t *testing.T) ([]string, func() string) {
		url := postgreslocal.NewDatabase(t)
		pool, err := pgxpool.New(t.Context(), url)
		check.Must(t, err)
		t.Cleanup(pool.Close)
		check.Must(t, postgres.CreateTable(t.Context(), pool, "idempotency", nil))
		_, err = pool.Exec(t.Context(), `INSERT INTO idempotency (id, status, expires)
			SELECT 'pay#' || n, 'COMPLETED', now() - interval '2 hours' FROM generate_series(1, $1::int) AS n
			UNION ALL SELECT 'pay#live', 'COMPLETED', now() + interval '1 hour'`, expired)
		check.Must(t, err)
		return []string{"IDEMPOTENCY_TABLE=idempotency", "DATABASE_URL=" + url}, func() (ids string) {
			check.Must(t, pool.QueryRow(t.Context(), "SELECT '[' || string_agg(id, ' ') || ']' FROM idempotency").Scan(&ids))
			return ids
		}
	},
}

// left returns the ids in a table, with the position of a sweep.
func left(t *testing.T, client *dynamodb.Client, table string) (ids []string) {
	t.Helper()
	for _, item := range deployed.Items(t, client, table) {
		ids = append(ids, item["id"].(*types.AttributeValueMemberS).Value)
	}
	return ids
}

func run(t *testing.T, f deployed.Invoker) report {
	t.Helper()
	r, err := deployed.Call[report](t.Context(), f, "the event is not read")
	check.Must(t, err)
	return r
}

func TestRunDeletesExpiredRecords(t *testing.T) {
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, has := open(t)
			f := deployed.Start(t, lambdaruntime.Function{Timeout: time.Minute}, env...)
			check.Equal(t, run(t, f), report{expired, true})
			check.Equal(t, has(), "[pay#live]")
		})
	}
}

// A run whose deadline is closer than the reserve ends after a page, and the next run
// continues.
func TestRunsThatAreCutOffByTheirDeadlinesReachTheEnd(t *testing.T) {
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, _ := open(t)
			f := deployed.Start(t, lambdaruntime.Function{Timeout: time.Minute}, append(env, "SWEEP_RESERVE=2m")...)
			deleted, runs := 0, 0
			for done := false; !done; runs++ {
				r := run(t, f)
				if r.Deleted == 0 && !r.Complete {
					t.Fatalf("run %d deleted nothing, after %d", runs, deleted)
				}
				deleted, done = deleted+r.Deleted, r.Complete
			}
			check.Equal(t, deleted, expired, "deleted")
			check.True(t, runs >= 3, runs, "runs: each sweeps one page")
		})
	}
}

// starts matches the position of a scan.
var starts = regexp.MustCompile(`"ExclusiveStartKey":\{[^}]*\}`)

// pages passes requests on to DynamoDB. It calls hold before each scan, with the positions
// of all scans so far.
func pages(t *testing.T, hold func(scans []string) error) (url string) {
	t.Helper()
	var scans []string
	proxy, err := wire.HTTP(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), func(r *wire.Request) (*wire.Response, error) {
		if r.Operation == "Scan" {
			scans = append(scans, starts.FindString(string(r.Body)))
			if err := hold(scans); err != nil {
				return nil, err
			}
		}
		return r.Send()
	})
	check.Must(t, err)
	t.Cleanup(func() { check.Nil(t, proxy.Close()) })
	return proxy.URL()
}

// A run is killed at its third page, as at a timeout. The next one continues with it.
func TestRunContinuesAfterAKilledOne(t *testing.T) {
	t.Parallel()
	client, table := newTable(t)
	third, killed := make(chan struct{}), make(chan struct{})
	var all []string
	url := pages(t, func(scans []string) error {
		if all = scans; len(scans) == 3 {
			close(third)
			<-killed
			return wire.ErrCut
		}
		return nil
	})
	f := deployed.Start(t, lambdaruntime.Function{Timeout: time.Minute}, "IDEMPOTENCY_TABLE="+table, "AWS_ENDPOINT_URL_DYNAMODB="+url)
	ended := make(chan error)
	go func() {
		_, err := f.Invoke(t.Context(), []byte("{}"))
		ended <- err
	}()
	<-third
	check.Must(t, f.Environment(0).Kill())
	close(killed)
	if err := <-ended; err == nil {
		t.Fatal("the killed run has a response")
	}
	if got := run(t, f); !got.Complete {
		t.Errorf("got %+v, want a complete run", got)
	}
	if len(all) < 4 || all[2] == "" || all[3] != all[2] {
		t.Errorf("the scans are %q; want the fourth to repeat the third", all)
	}
	check.Equal(t, fmt.Sprint(left(t, client, table)), "[pay#live]", "the table")
}

// Two environments sweep the same table at the same time.
func TestOverlappingRunsDeleteEachRecordOnce(t *testing.T) {
	t.Parallel()
	client, table := newTable(t)
	f := deployed.Start(t, lambdaruntime.Function{Timeout: time.Minute, Environments: 2}, "IDEMPOTENCY_TABLE="+table)
	ended := make(chan error)
	for i := range 2 {
		go func() {
			_, err := deployed.Call[report](t.Context(), f.Environment(i), "")
			ended <- err
		}()
	}
	for range 2 {
		check.Nil(t, <-ended)
	}
	if r := run(t, f); !r.Complete {
		t.Errorf("got %+v, want a complete run", r)
	}
	check.Equal(t, fmt.Sprint(left(t, client, table)), "[pay#live]", "the table")
}

// The tools of operators take the position for no record.
func TestPositionIsNoRecord(t *testing.T) {
	t.Parallel()
	client, table := newTable(t)
	p := &positions{client, table}
	check.Must(t, p.store(t.Context(), "", "position"))
	if got, err := p.load(t.Context()); got != "position" || err != nil {
		t.Fatalf("got %q, %v", got, err)
	}
	store, err := dynamo.New(client, table, nil)
	check.Must(t, err)
	page, err := store.Scan(t.Context(), driver.Filter{Prefix: positionID}, "")
	if err != nil || len(page.Entries) != 0 {
		t.Errorf("got %+v, %v", page.Entries, err)
	}
}

func TestMissingOrWrongSettingsFailTheStart(t *testing.T) {
	for want, env := range map[string]string{
		"IDEMPOTENCY_TABLE is not set": "SWEEP_RESERVE=1m",
		"SWEEP_RESERVE is 0s, less":    "SWEEP_RESERVE=0s",
		"SWEEP_OLDER_THAN is -1h0m0s":  "SWEEP_OLDER_THAN=-1h",
		"AWS_LAMBDA_LOG_LEVEL: ":       "AWS_LAMBDA_LOG_LEVEL=loud",
	} {
		deployed.FailsToStart(t, deployed.Start(t, lambdaruntime.Function{}, env), want)
	}
}

// feature/rds/auth of the SDK, version 1.7.9, returns this token for these credentials at
// this time, but for the slash, which the AWS CLI has as well.
func TestTokenIsThatOfTheSDK(t *testing.T) {
	c, err := pgx.ParseConfig("host=db.example.com port=5432 user='once user'")
	check.Must(t, err)
	cfg := aws.Config{Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", "SESSION+/=")}
	got, err := token(t.Context(), cfg, "rds-db", c, time.Date(2026, 11, 23, 9, 28, 12, 0, time.UTC))
	const want = "db.example.com:5432/?Action=connect&DBUser=once%20user&X-Amz-Algorithm=AWS4-HMAC-SHA256&" +
		"X-Amz-Credential=AKID%2F20261123%2Feu-west-1%2Frds-db%2Faws4_request&X-Amz-Date=20261123T092812Z&X-Amz-Expires=900&" +
		"X-Amz-Security-Token=SESSION%2B%2F%3D&X-Amz-SignedHeaders=host&X-Amz-Signature=e8eadcafb35b211d3ce127286601de009b80a1627f371465399aa785c89254b8"
	if got != want || err != nil {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	got, err = token(t.Context(), cfg, "dsql", c, time.Now())
	if err != nil || !strings.HasPrefix(got, "db.example.com/?Action=DbConnect&") || strings.Contains(got, "DBUser") {
		t.Errorf("got %s, %v", got, err)
	}
}

// secrets is a server of Secrets Manager with one secret.
func secrets(t *testing.T, text string) *secretsmanager.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"SecretString": %q}`, text)
	}))
	t.Cleanup(server.Close)
	return secretsmanager.New(secretsmanager.Options{
		BaseEndpoint: &server.URL, Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})
}

func TestLoginTakesUserAndPasswordFromTheSecret(t *testing.T) {
	c := new(pgx.ConnConfig)
	check.Must(t, login(context.Background(), secrets(t, `{"username": "once", "password": "p"}`), "arn", c))
	if c.User != "once" || c.Password != "p" {
		t.Errorf("got %q and %q", c.User, c.Password)
	}
}

func TestErrorOfLoginDoesNotQuoteTheSecret(t *testing.T) {
	err := login(context.Background(), secrets(t, "p4ss"), "arn", new(pgx.ConnConfig))
	if err == nil || strings.Contains(err.Error(), "p4ss") || errors.Unwrap(err) != nil {
		t.Errorf("got %v", err)
	}
}
