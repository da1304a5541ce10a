package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// silence is a DynamoDB that accepts a connection and does not answer: from a
// request on that at recognizes, all requests about the same record.
type silence struct {
	id string // of the record
	at func(operation, request string) bool

	mu    sync.Mutex
	began bool
}

func (s *silence) carry(r *wire.Request) (*wire.Response, error) {
	if !s.swallows(r.Operation, string(r.Body)) {
		return r.Send()
	}
	<-r.Context.Done()
	return nil, wire.ErrCut
}

func (s *silence) swallows(operation, request string) bool {
	if !strings.Contains(request, s.id) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = s.began || s.at(operation, request)
	return s.began
}

// The moments of a call at which DynamoDB falls silent.
var moments = map[string]func(operation, request string) bool{
	"claim":      func(operation, _ string) bool { return operation == "PutItem" },
	"step":       func(_, request string) bool { return strings.Contains(request, "SET #steps") },
	"completion": func(_, request string) bool { return strings.Contains(request, "COMPLETED") },
}

// output is the log of a function.
type output struct {
	mu    sync.Mutex
	lines []string
	more  chan struct{} // closed by the next line
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines = append(o.lines, strings.Split(strings.TrimSpace(string(p)), "\n")...)
	close(o.more)
	o.more = make(chan struct{})
	return len(p), nil
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.lines, "\n")
}

// has reports whether a line contains all parts. It waits for the line, which may arrive
// after the response.
func (o *output) has(parts ...string) bool {
	late := time.After(time.Minute)
	for {
		o.mu.Lock()
		more := o.more
		o.mu.Unlock()
		if len(o.having(parts...)) > 0 {
			return true
		}
		select {
		case <-more:
		case <-late:
			return false
		}
	}
}

// having returns the lines that contain all parts.
func (o *output) having(parts ...string) (found []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, line := range o.lines {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			found = append(found, line)
		}
	}
	return found
}

// silentCall is a function whose DynamoDB falls silent for one key. It is killed
// at the end of its invocation, as on Lambda. If nothing but that deadline bounded
// a call, it would leave no trace.
type silentCall struct {
	moment, trigger string
	hung            string        // the key
	timeout         time.Duration // of the invocation
	reserve, cut    string
	ahead           int
	unrecorded      int
}

// invoke returns the response and the output.
func (c silentCall) invoke(t *testing.T, event []byte) (lambdaruntime.Response, *output) {
	t.Helper()
	id, err := idempotent.Key{ID: c.hung}.RecordID("work")
	check.Must(t, err)
	url := behind(t, (&silence{id: id, at: moments[c.moment]}).carry)
	_, records := dynamodblocal.NewTable(t)
	said := &output{more: make(chan struct{})}
	f := lambdaruntime.StartTest(t, lambdaruntime.Function{
		Binary: worker, Name: "silent", InitTimeout: patience, Timeout: c.timeout, Log: said,
		Args: []string{
			"-endpoint=" + url, "-records=" + records, "-trigger=" + c.trigger, "-reserve=" + c.reserve, "-cut=" + c.cut,
			fmt.Sprint("-ahead=", c.ahead), fmt.Sprint("-unrecorded=", c.unrecorded),
		},
	})
	res, err := f.Invoke(t.Context(), event)
	if late, ok := errors.AsType[*lambdaruntime.TimeoutError](err); ok {
		t.Fatalf("the function was killed: %v\n%s", late, said.text())
	}
	check.Must(t, err, said.text())
	check.True(t, said.has("ERROR idempotent call", "gateway endpoint"), "no line says what to do", said.text())
	check.True(t, said.has(`"StoreErrors":1`, `"operation":"work"`), "no metric", said.text())
	return res, said
}

// A call whose claim hangs ends Reserve before the invocation, and the rest end
// before their own deadline, which they believe to be 10 s earlier than it is.
func TestSilentDynamoDBLeavesALineAndAMetric(t *testing.T) {
	t.Parallel()
	http, err := json.Marshal(map[string]any{
		"version": "2.0", "rawPath": "/orders", "headers": map[string]string{"idempotency-key": "k", "content-type": "text/plain"}, "body": "k",
		"requestContext": map[string]any{"http": map[string]string{"method": "POST", "path": "/orders"}},
	})
	check.Must(t, err)
	for moment, c := range map[string]silentCall{
		"claim":      {timeout: 13 * time.Second, reserve: "10s", cut: "0s"},
		"step":       {timeout: 13 * time.Second, reserve: "500ms", cut: "10s"},
		"completion": {timeout: 13 * time.Second, reserve: "500ms", cut: "10s"},
	} {
		c.moment, c.hung = moment, "k"
		effects := 1
		if moment == "claim" {
			effects = 0
		}
		t.Run(moment+", call", func(t *testing.T) {
			t.Parallel()
			res, said := c.with(func(c *silentCall) { c.trigger = "call" }).invoke(t, []byte(`{"key":"k"}`))
			if res.FunctionError == nil || res.FunctionError.Type != "StoreError" {
				t.Errorf("got %s", res.Payload)
			}
			check.Equal(t, len(said.having("placed k")), effects, "effects")
		})
		t.Run(moment+", HTTP", func(t *testing.T) {
			t.Parallel()
			res, said := c.with(func(c *silentCall) { c.trigger = "http" }).invoke(t, http)
			var answer struct{ StatusCode int }
			err := json.Unmarshal(res.Payload, &answer)
			// The error of a step is the handler's, which returns it.
			if byHandler := moment == "step"; err != nil || (res.FunctionError != nil) != byHandler || !byHandler && answer.StatusCode != 503 {
				t.Errorf("got %s, %v", res.Payload, err)
			}
			check.Equal(t, len(said.having("placed k")), effects, "effects")
		})
	}
}

// Messages that are done are reported as done, even if one of the batch hangs.
func TestSilentDynamoDBDoesNotLoseTheReportOfABatch(t *testing.T) {
	t.Parallel()
	const size = 10
	type message struct {
		MessageID   string `json:"messageId"`
		Body        string `json:"body"`
		EventSource string `json:"eventSource"`
	}
	var batch struct{ Records []message }
	for i := range size {
		batch.Records = append(batch.Records, message{fmt.Sprint("m", i), fmt.Sprintf(`{"key":"k%d"}`, i), "aws:sqs"})
	}
	event, err := json.Marshal(batch)
	check.Must(t, err)
	claim := silentCall{moment: "claim", hung: "k4", timeout: time.Minute, reserve: "500ms", cut: "0s"}
	later := silentCall{hung: "k4", timeout: 20 * time.Second, reserve: "500ms", cut: "10s"}
	for _, test := range []struct {
		name     string
		c        silentCall
		reported []int
		placed   []int
	}{
		{"claim", claim, []int{4}, []int{0, 1, 2, 3, 5, 6, 7, 8, 9}},
		{"claim, none ahead", claim.with(func(c *silentCall) { c.ahead = -1 }), []int{4}, []int{0, 1, 2, 3, 5, 6, 7, 8, 9}},
		{"claim of the first", claim.with(func(c *silentCall) { c.hung = "k0" }), []int{0}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		// The rest waits for the hung one, to the end.
		{"step", later.with(func(c *silentCall) { c.moment = "step" }), []int{4, 5, 6, 7, 8, 9}, []int{0, 1, 2, 3, 4}},
		{"completion", later.with(func(c *silentCall) { c.moment = "completion" }), []int{4, 5, 6, 7, 8, 9}, []int{0, 1, 2, 3, 4}},
		{"completion, unrecorded", later.with(func(c *silentCall) { c.moment, c.unrecorded = "completion", size }), []int{4}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.c.trigger = "batch"
			res, said := test.c.invoke(t, event)
			var report struct {
				BatchItemFailures []struct{ ItemIdentifier string }
			}
			if err := json.Unmarshal(res.Payload, &report); err != nil || res.FunctionError != nil {
				t.Fatalf("got %s, %v", res.Payload, err)
			}
			for i := range size {
				reported := slices.Contains(report.BatchItemFailures, struct{ ItemIdentifier string }{fmt.Sprint("m", i)})
				check.Equal(t, reported, slices.Contains(test.reported, i), "message", i, "is reported")
				effects := 0
				if slices.Contains(test.placed, i) {
					effects = 1
				}
				check.Equal(t, len(said.having(fmt.Sprint("placed k", i))), effects, "message", i, "effects")
			}
		})
	}
}

func (c silentCall) with(change func(*silentCall)) silentCall {
	change(&c)
	return c
}
