package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/powertoolsjs"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

var counterparts = map[powertoolsjs.Program]lambdaruntime.Function{}

func TestMain(m *testing.M) {
	var err error
	for _, p := range []powertoolsjs.Program{powertoolsjs.MakeIdempotent, powertoolsjs.Middy, powertoolsjs.Changing} {
		if counterparts[p], err = powertoolsjs.Function(context.Background(), os.Stderr, p); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(deployed.Main(func() int { return dynamodblocal.Main(m) }))
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
	env := append([]string{"IDEMPOTENCY_TABLE=" + p.records, "SHARED_TABLE=" + p.executed, "POWERTOOLS_PREFIX=pay", "POWERTOOLS_KEY=id"}, o.env...)
	start := func(f lambdaruntime.Function, more ...string) *lambdaruntime.Runtime {
		f.Environments, f.Grace, f.Timeout = max(o.environments, 1), time.Minute, cmp.Or(o.timeout, 20*time.Second)
		return deployed.Start(t, f, slices.Concat(env, more)...)
	}
	p.once = start(lambdaruntime.Function{Name: "shared"}, append([]string{"POWERTOOLS_DIALECT=typescript"}, o.onceEnv...)...)
	p.powertools = start(counterparts[cmp.Or(o.program, powertoolsjs.MakeIdempotent)], o.powertoolsEnv...)
	return p
}

type reply struct {
	Record string
	Event  any
}

// ask invokes a function. The error is that of the function, or of its process.
func ask(ctx context.Context, f *lambdaruntime.Runtime, event string) (reply, error) {
	return deployed.Call[reply](ctx, f, json.RawMessage(event))
}

func mustAsk(t *testing.T, f *lambdaruntime.Runtime, event string) reply {
	t.Helper()
	r, err := ask(t.Context(), f, event)
	check.Must(t, err, event)
	return r
}

// executions counts the items of each record.
func (p *pair) executions(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, item := range deployed.Items(t, p.client, p.executed) {
		counts[text(item["record"])]++
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
	check.Must(t, err)
	return out.Item
}

// text returns a string, or "" for a value of a different type.
func text(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}
