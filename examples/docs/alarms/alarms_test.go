// Package alarms_test compiles the functions that README and docs/start.md print, drives
// them into the failure that each alarm of their deployment names, and compares the metrics
// that they write with those that the alarm reads.
package alarms_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(m)) }

// A page prints a function. Its provider is a stub, which the tests make slow: for an amount
// of 1 in every call, and for an amount of 4 in the first one, which then succeeds.
type page struct {
	file, operation string
	provider        [2]string   // the text of the stub, and its replacement
	imports         [2]string   // what the replacement needs
	lambda          [][2]string // what options need
	config          [2]string   // where options go, and with %s in their place
	downstream      [2]string   // what an optimistic call cannot use
	issued          [2]string   // where a key gets the time that its id contains
	event           func(id string, amount int) string
}

const slow = `
	if %[1]s == 1 {
		<-ctx.Done()
		return %[2]s
	}
	if %[1]s == 4 && os.Mkdir(os.Getenv("FIRST"), 0o700) == nil {
		log.Print("the first call waits")
		<-ctx.Done()
		return %[3]s
	}
`

// withConfig makes the calls of dynamoenv.Start, with options.
const withConfig = `
func main() {
	store, err := dynamoenv.Open(context.Background(), nil)
	if err != nil {
		log.Fatal(err)
	}
	x, err := idempotent.New("create-payment", store, &idempotent.Config{%s})
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(idempotent.Wrap(x, key, createPayment))
}`

var pages = map[string]page{
	"README": {
		file: "../readme/main.go", operation: "create-payment",
		provider:   [2]string{"\treturn rand.Text(), nil\n", fmt.Sprintf(slow, "amount", `"", ctx.Err()`, `"late", nil`) + "\treturn rand.Text(), nil\n"},
		imports:    [2]string{"\t\"crypto/rand\"\n", "\t\"crypto/rand\"\n\t\"log\"\n\t\"os\"\n"},
		lambda:     [][2]string{{"\t\"github.com/lambda-once/once/dynamo/dynamoenv\"\n", "\t\"github.com/aws/aws-lambda-go/lambda\"\n\t\"github.com/lambda-once/once/dynamo/dynamoenv\"\n"}},
		config:     [2]string{"func main() { dynamoenv.Start(\"create-payment\", key, createPayment) }", withConfig},
		downstream: [2]string{`idempotent.DownstreamKey(ctx, "charge")`, `p.ID`},
		issued:     [2]string{`Payload: p}`, `Payload: p, Issued: idempotent.IssuedIn(p.ID)}`},
		event: func(id string, amount int) string {
			return fmt.Sprintf(`{"Customer": "ada", "ID": %q, "Amount": %d}`, id, amount)
		},
	},
	"start": {
		file: "../start/main.go", operation: "place-order",
		provider: [2]string{
			"func(_ context.Context, key string, o order) error {\n",
			"func(ctx context.Context, key string, o order) error {\n" + fmt.Sprintf(slow, "o.Quantity", "ctx.Err()", "nil"),
		},
		imports:    [2]string{"\t\"log\"\n", "\t\"log\"\n\t\"os\"\n"},
		config:     [2]string{"\tRetention: 28", "\t%s\n\tRetention: 28"},
		downstream: [2]string{`idempotent.DownstreamKey(ctx, "ship")`, `m.Body.OrderID`},
		issued:     [2]string{`Payload: m.Body}`, `Payload: m.Body, Issued: idempotent.IssuedIn(m.Body.OrderID)}`},
		event: func(id string, amount int) string {
			return fmt.Sprintf(`{"Records": [{"messageId": "m-1", "body": "{\"orderId\": \"%s\", \"quantity\": %d}"}]}`, id, amount)
		},
	},
}

// build compiles the function of a page with a provider that can be slow, and with options.
func (p page) build(t *testing.T, options string) string {
	t.Helper()
	path, err := filepath.Abs(p.file)
	check.Must(t, err)
	text, err := os.ReadFile(path)
	check.Must(t, err)
	edits := [][2]string{p.provider, p.imports}
	if options != "" {
		edits = append(edits, [2]string{p.config[0], fmt.Sprintf(p.config[1], options)})
		edits = append(edits, p.lambda...)
	}
	if strings.Contains(options, "Optimistic") {
		edits = append(edits, p.downstream)
	}
	if strings.Contains(options, "RefuseLate") {
		edits = append(edits, p.issued)
	}
	for _, edit := range edits {
		if n := strings.Count(string(text), edit[0]); n != 1 {
			t.Fatalf("%s has %d times %q", p.file, n, edit[0])
		}
		text = []byte(strings.Replace(string(text), edit[0], edit[1], 1))
	}
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	replace := fmt.Appendf(nil, `{"Replace": {%q: %q}}`, path, changed)
	check.Must(t, errors.Join(os.WriteFile(changed, text, 0o600), os.WriteFile(overlay, replace, 0o600)))
	t.Setenv("GOFLAGS", strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
	return lambdaruntime.BuildTest(t, filepath.Dir(path), ".")
}

// A deployment has the alarms of the synthesized template of docs/start.md.
type deployment struct {
	Alarms map[string]struct {
		Readings []struct {
			Metric, Statistic string
			Period            float64
			Dimensions        map[string]any
		}
	}
	Environment struct{ Variables map[string]any }
}

// A failure is what a function meets before the calls that ring its alarm.
type failure struct {
	options string
	before  func(w *world)
	id      string
	amount  int
}

var failures = map[string]failure{
	"LeaseLost":      {"Lease: 2e9,", (*world).freezeBeforeItsRecord, "k", 4},
	"Unknown":        {"MaxAttempts: 1,", (*world).crashBeforeItsRecord, "k", 2},
	"TimedOut":       {"", func(*world) {}, "k", 1},
	"Repeated":       {"Optimistic: true,", func(*world) {}, "k", 2},
	"Expired":        {"RefuseLate: true,", func(*world) {}, "00000000-0000-7000-8000-000000000000", 2}, // of 1970
	"Forgotten":      {"ProviderMemory: 3e9, Reserve: 1e9,", (*world).crashBeforeItsRecord, "k", 2},
	"Mismatch":       {"", func(w *world) { w.call("k", 2) }, "k", 3},
	"Takeovers":      {"MaxAttempts: 2,", (*world).crashBeforeItsRecord, "k", 2},
	"LapsedLeases":   {"", (*world).crashBeforeItsRecord, "k", 2},
	"Refused":        {"", func(*world) {}, "", 2},
	"StoreErrors":    {"", func(w *world) { w.answer("ResourceNotFoundException") }, "k", 2},
	"StoreThrottles": {"", func(w *world) { w.answer("ProvisionedThroughputExceededException") }, "k", 2},
	"Conflicts":      {"", (*world).crashBeforeItsRecord, "k", 2},
}

// Each alarm of an operation rings on metrics that the functions of the pages write, with
// the variables of their deployment and no further code.
func TestEachAlarmOfThePagesHasBeenSeenToRing(t *testing.T) {
	text, err := os.ReadFile("../../../infra/cmd/start/testdata/alarms.json")
	check.Must(t, err)
	var all deployment
	check.Must(t, json.Unmarshal(text, &all))
	var ours []string
	for id, a := range all.Alarms {
		name, operation := strings.CutPrefix(id, "Alarmsplaceorder")
		if operation {
			ours = append(ours, name)
			continue
		}
		for _, r := range a.Readings { // of AWS alone, but for Silent
			silent := id == "AlarmsOrdersSilent" && r.Metric == "Once Calls"
			check.Equal(t, strings.HasPrefix(r.Metric, "Once "), silent, id, "reads", r.Metric)
		}
	}
	slices.Sort(ours)
	check.Equal(t, len(ours), 13, "docs/start.md says how many alarms read metrics of the function", ours)
	check.Slice(t, slices.Sorted(maps.Keys(failures)), ours, "failures, and alarms")
	for name, p := range pages {
		binaries := map[string]string{}
		for id, f := range failures {
			if binaries[f.options] == "" {
				binaries[f.options] = p.build(t, f.options)
			}
			t.Run(name+"/"+id, func(t *testing.T) {
				timeout := 2 * time.Second
				if strings.Contains(f.options, "Lease") {
					timeout = time.Minute // longer than the lease
				}
				w := newWorld(t, p, all, binaries[f.options], timeout)
				w.call("before", 2)
				w.await("Silent", func() bool { return w.sees("AlarmsOrdersSilent") })
				check.False(t, w.sees("Alarmsplaceorder"+id), "it rings before the failure")
				f.before(w)
				w.until(id, func() { w.call(f.id, f.amount) })
			})
		}
	}
}

// A world is a function in two environments, its table, and the network between them.
type world struct {
	t        *testing.T
	page     page
	deployed deployment
	lambda   *lambdaruntime.Runtime
	log      *os.File
	carry    atomic.Pointer[wire.Carry]
}

func newWorld(t *testing.T, p page, d deployment, binary string, timeout time.Duration) *world {
	t.Helper()
	_, table := dynamodblocal.NewTable(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	check.Must(t, err)
	w := &world{t: t, page: p, deployed: d, log: log}
	w.let((*wire.Request).Send)
	proxy, err := wire.HTTP(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), func(r *wire.Request) (*wire.Response, error) { return (*w.carry.Load())(r) })
	check.Must(t, err)
	t.Cleanup(func() { check.Must(t, errors.Join(proxy.Close(), log.Close())) })
	env := []string{"AWS_ENDPOINT_URL_DYNAMODB=" + proxy.URL(), "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "FIRST=" + filepath.Join(t.TempDir(), "first")}
	for name, value := range d.Environment.Variables {
		if name == "IDEMPOTENCY_TABLE" {
			value = table
		}
		env = append(env, fmt.Sprint(name, "=", value))
	}
	w.lambda = lambdaruntime.StartTest(t, lambdaruntime.Function{
		Binary: binary, Env: env, Environments: 2, InitTimeout: time.Minute, Log: log, Timeout: timeout,
	})
	return w
}

func (w *world) let(carry wire.Carry) { w.carry.Store(&carry) }

func (w *world) call(id string, amount int) { w.in(0, id, amount) }

// in invokes the function. What it returns does not matter: alarms read metrics alone.
func (w *world) in(environment int, id string, amount int) {
	_, err := w.lambda.Environment(environment).Invoke(context.Background(), []byte(w.page.event(id, amount)))
	if err != nil {
		w.t.Log(err)
	}
}

// answer lets DynamoDB refuse each request.
func (w *world) answer(exception string) {
	w.let(func(r *wire.Request) (*wire.Response, error) {
		response, err := r.Send()
		if err == nil {
			response.Status, response.Body = 400, []byte(`{"__type": "com.amazonaws.dynamodb.v20120810#`+exception+`", "message": "no"}`)
			response.Header.Del("X-Amz-Crc32")
			response.Header.Del("Content-Length")
		}
		return response, err
	})
}

// crashBeforeItsRecord kills a call after its effect, before it records its result.
func (w *world) crashBeforeItsRecord() {
	sent, returned := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	w.let(func(r *wire.Request) (*wire.Response, error) {
		if r.Operation != "UpdateItem" || !once.CompareAndSwap(false, true) {
			return r.Send()
		}
		close(sent)
		<-returned // the request is lost with its sender
		return nil, wire.ErrCut
	})
	go func() { w.in(1, "k", 2); close(returned) }()
	select {
	case <-sent:
	case <-returned:
		w.t.Fatal("the call ended before it sent its result")
	}
	check.Must(w.t, w.lambda.Environment(1).Kill())
	<-returned
}

// freezeBeforeItsRecord freezes a call with a lease of its own in the provider, lets a
// second one take the record over, and then the first one go on.
func (w *world) freezeBeforeItsRecord() {
	returned := make(chan struct{})
	go func() { w.in(1, "k", 4); close(returned) }()
	w.await("the provider", func() bool { return strings.Contains(w.lines(), "the first call waits") })
	check.Must(w.t, w.lambda.Environment(1).Freeze())
	w.until("LapsedLeases", func() { w.call("k", 4) })
	check.Must(w.t, w.lambda.Environment(1).Thaw())
	<-returned
}

func (w *world) until(alarm string, act func()) {
	w.t.Helper()
	w.await(alarm, func() bool { act(); return w.sees("Alarmsplaceorder" + alarm) })
}

// await tries for as long as a lease and the start of a process can take.
func (w *world) await(what string, done func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !done(); {
		if time.Now().After(end) {
			w.t.Fatalf("%s does not ring; the function wrote\n%s", what, w.lines())
		}
	}
}

// sees reports whether all metrics of ours that an alarm reads were written, and are not 0.
func (w *world) sees(id string) bool {
	w.t.Helper()
	for _, r := range w.deployed.Alarms[id].Readings {
		if !strings.HasPrefix(r.Metric, "Once ") {
			continue
		}
		dimensions := maps.Clone(r.Dimensions)
		dimensions["operation"] = w.page.operation
		if r.Statistic != "Sum" || r.Period < 300 || w.sum(r.Metric, dimensions) == 0 { // the lines are counted
			return false
		}
	}
	return true
}

// lines returns what the function has logged, which CloudWatch receives.
func (w *world) lines() string {
	text, err := os.ReadFile(w.log.Name())
	check.Must(w.t, err)
	return string(text)
}

// sum adds up a metric as CloudWatch does: over the lines that declare its namespace, its
// name and the names of its dimensions, and that have the values of these.
func (w *world) sum(metric string, dimensions map[string]any) (sum float64) {
	w.t.Helper()
	for line := range strings.Lines(w.lines()) {
		_, text, found := strings.Cut(line, `{"_aws":`)
		if !found || !strings.HasSuffix(line, "\n") { // the last line may still be written
			continue
		}
		var members map[string]any
		var declared struct {
			CloudWatchMetrics []struct {
				Namespace  string
				Dimensions [][]string
				Metrics    []struct{ Name string }
			}
		}
		check.Must(w.t, json.Unmarshal([]byte(`{"_aws":`+text), &members))
		check.Must(w.t, json.NewDecoder(strings.NewReader(text)).Decode(&declared))
		for _, d := range declared.CloudWatchMetrics {
			equal := func(names []string) bool {
				values := map[string]any{}
				for _, name := range names {
					values[name] = members[name]
				}
				return maps.Equal(values, dimensions)
			}
			for _, m := range d.Metrics {
				if d.Namespace+" "+m.Name == metric && slices.ContainsFunc(d.Dimensions, equal) {
					sum += members[m.Name].(float64)
				}
			}
		}
	}
	return sum
}
