package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// A resumer is Lambda with one function.
type resumer struct {
	invoke func(ctx context.Context, e handlers.ResumeEvent) (status int, header, body string)
	calls  atomic.Int32
}

func (s *storeScene) serve(r *resumer) {
	s.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.calls.Add(1)
		body, err := io.ReadAll(q.Body)
		check.Nil(s, err)
		var event handlers.ResumeEvent
		check.Nil(s, json.Unmarshal(body, &event))
		check.Contains(s, q.URL.Path, "/functions/pay-resume/invocations")
		status, header, answer := r.invoke(q.Context(), event)
		if status == 0 {
			panic(http.ErrAbortHandler) // the answer is lost
		}
		name, value, _ := strings.Cut(header, ": ")
		w.Header().Set(name, value)
		w.WriteHeader(status)
		_, err = io.WriteString(w, answer)
		check.Nil(s, err)
	}))
	s.Cleanup(server.Close)
	s.Setenv("AWS_ENDPOINT_URL_LAMBDA", server.URL)
}

type payment struct{ ID string }

// leave calls a function whose first attempt fails behind its first step, and returns the
// record, and the function of handlers.Resume for it.
func (s *storeScene) leave(config idempotent.Config) (id string, resume func(context.Context, handlers.ResumeEvent) (handlers.ResumeReport, error)) {
	s.Helper()
	config.Resume, config.Observer = true, idempotent.NoObserver{}
	x, err := idempotent.New("pay", s.records, &config)
	check.Must(s, err)
	key := idempotent.Key{ID: "order-1"}
	id, err = key.RecordID("pay")
	check.Must(s, err)
	attempts := 0
	keyed := func(p payment) (idempotent.Key, error) { return idempotent.Key{ID: p.ID}, nil }
	pay := func(ctx context.Context, p payment) (receipt, error) {
		attempts++
		_, err := idempotent.Step(ctx, "charge", func(context.Context) (int, error) { return attempts, nil })
		return receipt(p), errors.Join(err, map[int]error{1: errCrash}[attempts])
	}
	_, err = idempotent.Wrap(x, keyed, pay)(s.Context(), payment{"order-1"})
	check.Is(s, err, errCrash)
	return id, handlers.Resume(handlers.Resumed(x, keyed, pay), nil)
}

// The function that a person invokes does what the next call would, on every store.
func TestResumeFinishesWhatItsCallerLeftBehind(t *testing.T) {
	onStores(t, func(s *storeScene) {
		id, resume := s.leave(idempotent.Config{})
		s.serve(&resumer{invoke: func(ctx context.Context, e handlers.ResumeEvent) (int, string, string) {
			check.Slice(s, e.IDs, []string{id})
			report, err := resume(ctx, e)
			check.Nil(s, err)
			body, err := json.Marshal(report)
			check.Nil(s, err)
			return 200, "X-Amz-Executed-Version: 1", string(body)
		}})
		out := s.prints("\nrequest      16 bytes\n", "inspect", id)
		check.Contains(s, out, "\nbegan        20")
		check.Contains(s, out, "once resume")
		out = s.prints(`"request":"16 bytes","next":"runs"`, "inspect", "--json", id)
		check.Contains(s, out, `"began":"20`)
		check.Lacks(s, out, "order-1", "the request is shown")
		s.ends(cli.CodeDeclined, "The function pay-resume will run its stored request", "resume", id, "--function", "pay-resume")
		// By the digits of its hash.
		out = s.prints("pay: 1 resumed, 0 failed, 0 wait", "resume", id[len("pay#"):][:12], "--function", "pay-resume", "--yes")
		check.Lacks(s, out, "order-1", "the request is shown")
		r := s.get(id)
		check.Equal(s, r.Status, driver.Completed)
		check.Contains(s, string(r.Data), "order-1")
		s.ends(cli.CodeRefused, "is not in progress (completed); nothing was run", "resume", id, "--function", "pay-resume", "--yes")
	})
}

func TestResumeRefusesWhatNoFunctionResumes(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.serve(&resumer{invoke: func(context.Context, handlers.ResumeEvent) (int, string, string) {
			s.Error("the function was invoked")
			return 500, "", ""
		}})
		s.claim("pay#running", time.Hour)
		s.claim("pay#silent", -time.Hour)
		s.finish("pay#done", "1")
		plant(s.T, s.records, driver.Record{ID: "pay#durable", Status: driver.InProgress, Owner: "execution-1", Attempt: 1, Lease: time.Now().Add(-time.Hour), Expires: time.Now().Add(time.Hour)})
		for id, says := range map[string]string{
			"pay#running": "a call may run it: its state is running",
			"pay#silent":  "its request is not stored",
			"pay#done":    "the record is not in progress (completed)",
			"pay#durable": "a durable execution owns it",
		} {
			s.ends(cli.CodeRefused, says, "resume", id, "--function", "pay-resume", "--yes")
		}
		s.ends(cli.CodeNoRecord, "no record pay#none", "resume", "pay#none", "--function", "pay-resume", "--yes")
		s.ends(cli.CodeUsage, "set --function", "resume", "pay#silent")
		s.ends(cli.CodeUsage, "KEY is missing", "resume", "--function", "pay-resume")
	})
}

// What an operator reads if the function does not resume the record.
func TestResumeSaysWhyItIsNotResumed(t *testing.T) {
	s := stores["DynamoDB"](t)
	id, _ := s.leave(idempotent.Config{})
	report := func(counts string) string { return `{"operation": "pay", ` + counts + `, "complete": true}` }
	for _, c := range []struct {
		status       int
		header, body string
		code         int
		says         string
	}{
		{200, "", report(`"failed": 1`), cli.CodeFailed, "it is not resumed"},
		{200, "", report(`"left": 1`), cli.CodeFailed, "it is not resumed"},
		{200, "", report(`"resumed": 0`), cli.CodeFailed, "another call may have taken it over"},
		{200, "", report(`"waiting": 1`), cli.CodeRefused, "resolve or release it"},
		{200, "", `{"statusCode": 200}`, cli.CodeUnacknowledged, "is not one of handlers.Resume"},
		{200, "", `null`, cli.CodeUnacknowledged, "is not one of handlers.Resume"},
		{200, "X-Amz-Function-Error: Unhandled", `{"errorMessage": "no"}`, cli.CodeFailed, "the function pay-resume failed"},
		{404, "X-Amzn-ErrorType: ResourceNotFoundException", `{}`, cli.CodeFailed, "there is no function pay-resume"},
		{429, "X-Amzn-ErrorType: TooManyRequestsException", `{}`, cli.CodeFailed, "is busy"},
		{403, "X-Amzn-ErrorType: AccessDeniedException", `{"Message": "not you"}`, cli.CodeFailed, "was not invoked: "},
		{500, "X-Amzn-ErrorType: ServiceException", `{}`, cli.CodeUnacknowledged, "may have resumed the record"},
		{0, "", "", cli.CodeUnacknowledged, "no answer of the function"},
	} {
		t.Run(fmt.Sprint(c.status, c.header, c.body), func(t *testing.T) {
			s := &storeScene{&scene{T: t}, s.records, s.flags}
			r := &resumer{invoke: func(context.Context, handlers.ResumeEvent) (int, string, string) { return c.status, c.header, c.body }}
			s.serve(r)
			s.ends(c.code, c.says, "resume", id, "--function", "pay-resume", "--yes")
			check.Equal(t, r.calls.Load(), 1, "invocations")
		})
	}
	s.serve(&resumer{invoke: func(context.Context, handlers.ResumeEvent) (int, string, string) {
		return 200, "", report(`"resumed": 1`)
	}})
	var got handlers.ResumeReport
	check.Must(t, json.Unmarshal([]byte(s.ok(s.with("resume", id, "--function", "pay-resume", "--yes", "--json")...)), &got))
	check.Equal(t, got.Resumed, 1)
}
