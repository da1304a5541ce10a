package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"maps"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

const (
	environments = 3
	// unrecorded is the number of orders whose completion one environment may not
	// have recorded yet, and that one kill can repeat.
	unrecorded = 10
	// timeout is the timeout of an invocation. A lease lasts for it and the
	// ClockSkew of a second, and lapses one more ClockSkew after that.
	timeout   = 4 * time.Second
	takenOver = timeout + 2*time.Second
)

// function is the compiled function with its tables and its killed processes.
type function struct {
	*lambdaruntime.Runtime
	client          *dynamodb.Client
	records, orders string
	outcomes        *outcomes

	mu     sync.Mutex
	killed map[string][]byte // log stream of a process, and the event it was killed with
}

func deploy(t *testing.T, env ...string) *function {
	t.Helper()
	f := &function{outcomes: &outcomes{counts: map[string]int{}}, killed: map[string][]byte{}}
	f.client, f.records = dynamodblocal.NewTable(t)
	_, f.orders = dynamodblocal.NewTable(t)
	env = append(env, "IDEMPOTENCY_TABLE="+f.records, "ORDERS_TABLE="+f.orders)
	for _, name := range []string{"AWS_ENDPOINT_URL_DYNAMODB", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		env = append(env, name+"="+os.Getenv(name))
	}
	f.Runtime = lambdaruntime.StartTest(t, lambdaruntime.Function{
		Name: "orders", Binary: lambdaruntime.BuildTest(t, "../../../../examples", "./orders"), Env: env,
		Environments: environments, Timeout: timeout, InitTimeout: time.Minute, Log: f.outcomes,
	})
	return f
}

// Invoke records which processes were killed during an invocation, also by its
// timeout.
func (f *function) Invoke(ctx context.Context, payload []byte) (lambdaruntime.Response, error) {
	res, err := f.Runtime.Invoke(ctx, payload)
	f.mu.Lock()
	defer f.mu.Unlock()
	if crash, ok := errors.AsType[*lambdaruntime.CrashedError](err); ok && crash.Status == "signal: killed" {
		f.killed[crash.LogStream] = payload
	}
	if late, ok := errors.AsType[*lambdaruntime.TimeoutError](err); ok {
		f.killed[late.LogStream] = payload
	}
	return res, err
}

// diedWith reports whether the process was killed while it handled the order.
func (f *function) diedWith(process, orderID string) bool {
	return bytes.Contains(f.killed[process], []byte(orderID))
}

// execution is the item that the function writes for each execution.
type execution struct {
	OrderID string `dynamodbav:"orderId"`
	Status  string `dynamodbav:"status"`
	Attempt int64  `dynamodbav:"attempt"`
	Process string `dynamodbav:"process"`
}

// executions returns the executions of each order.
func (f *function) executions(t *testing.T) map[string][]execution {
	t.Helper()
	byOrder := map[string][]execution{}
	for _, e := range scan[execution](t, f.client, f.orders) {
		byOrder[e.OrderID] = append(byOrder[e.OrderID], e)
	}
	return byOrder
}

func scan[T any](t *testing.T, client *dynamodb.Client, table string) (all []T) {
	t.Helper()
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		check.Must(t, err)
		var items []T
		check.Must(t, attributevalue.UnmarshalListOfMaps(page.Items, &items))
		all = append(all, items...)
	}
	return all
}

// outcomes counts the outcomes in the function's log.
type outcomes struct {
	mu     sync.Mutex
	counts map[string]int
}

var outcome = regexp.MustCompile(`"msg":"idempotent call".*"outcome":"([a-z ]+)"`)

func (o *outcomes) Write(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if found := outcome.FindSubmatch(line); found != nil {
		o.counts[string(found[1])]++
	} else if bytes.Contains(line, []byte(`"level":"ERROR"`)) {
		o.counts[string(line)]++
	}
	return len(line), nil
}

func (o *outcomes) all() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.counts)
}

// seed determines the order of the messages and the environments to kill, but not the
// moments of the kills.
var seed = flag.Uint64("seed", 0, "of what is random; 0: a new one")

func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(m)) }
