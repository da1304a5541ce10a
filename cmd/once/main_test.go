package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/serving"
	"github.com/lambda-once/once/internal/wire"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/redis/redislocal"
)

// The test binary stands for the command, as it is run by an operator: so it
// is checked for races, too.
func TestMain(m *testing.M) {
	if os.Getenv("ONCE_COMMAND") != "" {
		main()
	}
	withRedis := serving.Tests(func() int { return redislocal.Main(m, nil) })
	withPostgreSQL := serving.Tests(func() int { return postgreslocal.Main(withRedis) })
	os.Exit(dynamodblocal.Main(withPostgreSQL))
}

// Short names for values of items.
func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// scene is a table, and the command on it.
type scene struct {
	*testing.T
	client *dynamodb.Client
	table  string
	store  *dynamo.Store
}

func newScene(t *testing.T) *scene {
	t.Helper()
	client, table := dynamodblocal.NewTable(t)
	store, err := dynamo.New(client, table, nil)
	check.Must(t, err)
	return &scene{t, client, table, store}
}

func (s *scene) command(args ...string) *exec.Cmd {
	s.Helper()
	self, err := os.Executable()
	check.Must(s, err)
	cmd := exec.CommandContext(s.Context(), self, args...)
	// The race detector would have each run of the command sleep for a second.
	cmd.Env = append(os.Environ(), "ONCE_COMMAND=1", "IDEMPOTENCY_TABLE="+s.table, "GORACE=atexit_sleep_ms=0")
	return cmd
}

// wired returns the URL of a proxy in front of DynamoDB Local.
func (s *scene) wired(carry wire.Carry) string {
	s.Helper()
	proxy, err := wire.HTTP(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), carry)
	check.Must(s, err)
	s.Cleanup(func() { check.Nil(s, proxy.Close()) })
	return proxy.URL()
}

// through is DynamoDB Local with changed responses. An error cuts the connection.
func (s *scene) through(change func(operation string, answer *wire.Response) error) string {
	s.Helper()
	return s.wired(func(r *wire.Request) (*wire.Response, error) {
		answer, err := r.Send()
		if err == nil {
			err = change(r.Operation, answer)
		}
		return answer, err
	})
}

func denies(answer *wire.Response) {
	answer.Status, answer.Header = http.StatusBadRequest, http.Header{"X-Amzn-Errortype": {"AccessDeniedException"}}
}

// ran is the output of a run of the command.
type ran struct {
	out, err string
	code     int
}

func (s *scene) run(args ...string) ran {
	s.Helper()
	return s.typing("", args...)
}

func (s *scene) typing(input string, args ...string) ran {
	s.Helper()
	return s.reading(strings.NewReader(input), args...)
}

// process runs the command in a process, whose output is all that the libraries write, too.
func (s *scene) process(input io.Reader, args ...string) ran {
	s.Helper()
	var out, stderr bytes.Buffer
	cmd := s.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &out, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		s.Fatal(err)
	}
	return ran{out.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// reading runs the command in this process: a new one takes a tenth of a second to start under
// the race detector. Only what changes the environment of its process, or has a lock or an
// output until that ends, gets one.
func (s *scene) reading(input io.Reader, args ...string) ran {
	s.Helper()
	if slices.ContainsFunc(args, func(arg string) bool { return slices.Contains([]string{"dynamodb", "invoke", "--continue"}, arg) }) {
		return s.process(input, args...)
	}
	var out, stderr bytes.Buffer
	check.Must(s, os.Setenv("IDEMPOTENCY_TABLE", s.table)) // parallel tests have none
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	code := run(ctx, cli.Terminal{In: input, Out: &out, Err: &stderr}, args)
	return ran{out.String(), stderr.String(), code}
}

// ok runs a command that has to succeed.
func (s *scene) ok(args ...string) string {
	s.Helper()
	r := s.run(args...)
	if r.code != 0 {
		s.Fatalf("once %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r.out
}

// refused runs a command that has to end with a code, a text, and nothing
// written.
func (s *scene) refused(code int, say string, args ...string) {
	s.Helper()
	before := s.items()
	r := s.run(args...)
	if r.code != code || !strings.Contains(r.err, say) || r.out != "" {
		s.Errorf("once %s: exit %d, want %d and %q\n%s%s", strings.Join(args, " "), r.code, code, say, r.out, r.err)
	}
	if after := s.items(); fmt.Sprint(after) != fmt.Sprint(before) {
		s.Errorf("once %s has written: %v, was %v", strings.Join(args, " "), after, before)
	}
}

// items of the table, as JSON.
func (s *scene) items() []string {
	s.Helper()
	out, err := s.client.Scan(s.Context(), &dynamodb.ScanInput{TableName: &s.table})
	check.Must(s, err)
	var items []string
	for _, item := range out.Items {
		text, err := json.Marshal(item)
		check.Must(s, err)
		items = append(items, string(text))
	}
	return items
}

func (s *scene) put(item map[string]types.AttributeValue) {
	s.Helper()
	if _, err := s.client.PutItem(s.Context(), &dynamodb.PutItemInput{TableName: &s.table, Item: item}); err != nil {
		s.Fatal(err)
	}
}

// claimed writes the record of a claim by owner, whose lease ends at the time.
func (s *scene) claimed(id, owner string, lease time.Time) {
	s.Helper()
	r := driver.Record{
		ID: id, Status: driver.InProgress, Owner: owner, Attempt: 1, Lease: lease,
		Expires: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), Fingerprint: "f1",
	}
	if _, ok, err := s.store.Create(s.Context(), r, time.Time{}, nil); !ok || err != nil {
		s.Fatal(ok, err)
	}
}

func (s *scene) stored(id string) driver.Record {
	s.Helper()
	r, err := s.store.Get(s.Context(), id)
	check.Must(s, err)
	return r
}

// executor of the operation pay.
func (s *scene) executor(config *idempotent.Config) *idempotent.Executor {
	s.Helper()
	x, err := idempotent.New("pay", s.store, config)
	check.Must(s, err)
	return x
}

type receipt struct {
	ID string `json:"id"`
}

var errCrash = errors.New("something went wrong")

// pay runs the operation, whose handler returns fresh or fails with it.
func (s *scene) pay(x *idempotent.Executor, fresh any) (receipt, error) {
	return idempotent.Do(s.Context(), x, idempotent.Key{Scope: "ada", ID: "order-1", Payload: 12}, func(context.Context) (receipt, error) {
		if err, failed := fresh.(error); failed {
			return receipt{}, err
		}
		return receipt{ID: fresh.(string)}, nil
	})
}

func small(i int) map[string]types.AttributeValue {
	item := map[string]types.AttributeValue{
		"id":         text(fmt.Sprintf("%s#%064x", []string{"pay", "ship"}[i%2], i)),
		"status":     text("COMPLETED"),
		"owner":      text("4XTGDOZHKT3BKYYKCKZK4ZVRAB"),
		"attempt":    number(1),
		"expiration": number(time.Now().Add(time.Hour).Unix()),
		"data":       text(`{"id":"payment-` + strings.Repeat("x", 100) + `"}`),
	}
	if i%1000 == 0 {
		item["status"] = text("INPROGRESS")
		item["in_progress_expiration"] = number(1_500_000_000_000)
		delete(item, "data")
	}
	return item
}
