package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/powertoolsjs"
)

var (
	binary       string // the compiled function
	counterparts = map[powertoolsjs.Program]lambdaruntime.Function{}
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var err error
	for _, p := range []powertoolsjs.Program{powertoolsjs.MakeIdempotent, powertoolsjs.Middy, powertoolsjs.Changing} {
		if counterparts[p], err = powertoolsjs.Function(context.Background(), os.Stderr, p); err != nil {
			return fail(err)
		}
	}
	if binary, err = lambdaruntime.Build(context.Background(), ".", "."); err != nil {
		return fail(err)
	}
	defer func() {
		if err := os.RemoveAll(filepath.Dir(binary)); err != nil {
			code = fail(err)
		}
	}()
	return dynamodblocal.Main(m)
}

// pair is the compiled function and its counterpart in TypeScript, on one table of records.
type pair struct {
	once, powertools  *lambdaruntime.Runtime
	client            *dynamodb.Client
	records, executed string
}

type options struct {
	env                    []string // of both
	environments           int
	onceEnv, powertoolsEnv []string
	timeout                time.Duration
	program                powertoolsjs.Program // default: MakeIdempotent
}

// newPair starts both. The key is the field id of an event.
func newPair(t *testing.T, o options) *pair {
	t.Helper()
	p := &pair{}
	p.client, p.records = dynamodblocal.NewTable(t)
	_, p.executed = dynamodblocal.NewTable(t)
	env := append([]string{
		"IDEMPOTENCY_TABLE=" + p.records, "SHARED_TABLE=" + p.executed, "POWERTOOLS_PREFIX=pay", "POWERTOOLS_KEY=id",
	}, awsEnv()...)
	env = append(env, o.env...)
	start := func(f lambdaruntime.Function, more ...string) *lambdaruntime.Runtime {
		f.Environments, f.InitTimeout, f.Grace, f.Timeout = max(o.environments, 1), time.Minute, time.Minute, o.timeout
		if f.Timeout == 0 {
			f.Timeout = 20 * time.Second
		}
		f.Env = append(append(append([]string{}, f.Env...), env...), more...)
		return lambdaruntime.StartTest(t, f)
	}
	p.once = start(lambdaruntime.Function{Name: "shared", Binary: binary}, append([]string{"POWERTOOLS_DIALECT=typescript"}, o.onceEnv...)...)
	p.powertools = start(counterparts[cmp.Or(o.program, powertoolsjs.MakeIdempotent)], o.powertoolsEnv...)
	return p
}

func awsEnv() (env []string) {
	for _, name := range []string{"AWS_ENDPOINT_URL_DYNAMODB", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		env = append(env, name+"="+os.Getenv(name))
	}
	return env
}

type reply struct {
	Record string
	Event  any
}

// ask invokes a function. The error is that of the function, or of its process.
func ask(ctx context.Context, f *lambdaruntime.Runtime, event string) (r reply, err error) {
	response, err := f.Invoke(ctx, []byte(event))
	if err != nil {
		return r, err
	}
	if response.FunctionError != nil {
		return r, response.FunctionError
	}
	return r, json.Unmarshal(response.Payload, &r)
}

func mustAsk(t *testing.T, f *lambdaruntime.Runtime, event string) reply {
	t.Helper()
	r, err := ask(t.Context(), f, event)
	if err != nil {
		t.Fatalf("%s: %v", event, err)
	}
	return r
}

// failure returns the type of a function's error.
func failure(err error) string {
	var failed *lambdaruntime.FunctionError
	if errors.As(err, &failed) {
		return failed.Type
	}
	return fmt.Sprint(err)
}

// executions counts the items of each record.
func (p *pair) executions(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	pages := dynamodb.NewScanPaginator(p.client, &dynamodb.ScanInput{TableName: &p.executed, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			counts[text(item["record"])]++
		}
	}
	return counts
}

// awaitExecutions returns when there are that many in all.
func (p *pair) awaitExecutions(t *testing.T, want int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		n := 0
		for _, count := range p.executions(t) {
			n += count
		}
		if n == want {
			return
		}
		if n > want || time.Now().After(deadline) {
			t.Fatalf("%d executions, want %d", n, want)
		}
	}
}

// record reads the item of a record.
func (p *pair) record(t *testing.T, id string) map[string]types.AttributeValue {
	t.Helper()
	out, err := p.client.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: &p.records, ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item
}

// text returns a string, or "" for any other value.
func text(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}
