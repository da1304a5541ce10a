package lambdaruntime_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
)

func TestEcho(t *testing.T) {
	t.Setenv("ONCE_SECRET_OF_THE_PARENT", "1")
	r := start(t, lambdaruntime.Function{Name: "payments", Env: []string{"TABLE=once"}})
	res, got := invoke(t, r, "echo")
	check.Differ(t, got.RequestID, "")
	check.Equal(t, got.RequestID, res.RequestID)
	check.Equal(t, got.Function, "payments")
	check.Equal(t, got.ARN, "arn:aws:lambda:us-east-1:123456789012:function:payments")
	left := got.Deadline - got.Now
	check.True(t, left > 0, left)
	check.True(t, left <= time.Minute.Milliseconds(), left)
	check.True(t, slices.Contains(got.Env, "TABLE=once"))
	for _, e := range got.Env {
		check.False(t, strings.HasPrefix(e, "HOME="))
		check.False(t, strings.HasPrefix(e, "ONCE_"))
	}
	check.True(t, res.Cold)
	again, _ := invoke(t, r, "echo")
	check.False(t, again.Cold)
	check.Differ(t, again.RequestID, res.RequestID)
	check.Equal(t, r.ColdStarts(), 1)
}

func TestFunctionErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		do, kind, message string
		dies              bool
	}{
		{"typed", "DeclinedError", "card declined", false},
		{"plain", "errorString", "it failed", false},
		{"broken stream", "DeclinedError", "card declined", false},
		{"panic", "string", "at the disco", true},
		{"big", "Function.ResponseSizeTooLarge", "6291556", true},
	} {
		t.Run(test.do, func(t *testing.T) {
			t.Parallel()
			r := start(t, lambdaruntime.Function{})
			res, err := r.Invoke(t.Context(), event(test.do, ""))
			check.Must(t, err)
			failure := res.FunctionError
			if failure == nil || failure.Type != test.kind || !strings.Contains(failure.Message, test.message) {
				t.Fatalf("got %+v", failure)
			}
			check.Equal(t, strings.Contains(string(res.Payload), `"stackTrace"`), test.do == "panic", "a stack trace")
			next, _ := invoke(t, r, "echo")
			check.Equal(t, next.Cold, test.dies, "the next start is cold")
		})
	}
}

func TestCrash(t *testing.T) {
	t.Parallel()
	log := new(strings.Builder)
	r := start(t, lambdaruntime.Function{Name: "f", Log: log})
	_, err := r.Invoke(t.Context(), event("exit", ""))
	var crash *lambdaruntime.CrashedError
	if !errors.As(err, &crash) || crash.Status != "exit status 4" || crash.Output != "last words" || crash.RequestID == "" {
		t.Fatalf("got %#v", err)
	}
	check.Equal(t, log.String(), "f/0 last words\n")
	if next, _ := invoke(t, r, "echo"); !next.Cold || r.ColdStarts() != 2 {
		t.Errorf("cold: %v, %d cold starts", next.Cold, r.ColdStarts())
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	for limit := 250 * time.Millisecond; ; limit *= 4 {
		r := start(t, lambdaruntime.Function{Timeout: limit})
		addr, arrivals := listen(t)
		_, err := r.Invoke(t.Context(), event("hang", addr))
		timeout := check.As[*lambdaruntime.TimeoutError](t, err)
		check.True(t, strings.HasSuffix(err.Error(), fmt.Sprintf("Task timed out after %.2f seconds", limit.Seconds())), err)
		check.Equal(t, timeout.LogStream, r.Environment(0).LogStream())
		check.Equal(t, r.ColdStarts(), 1, "cold starts")
		// The machine may be too busy, but a process must have begun.
		_, err = r.Invoke(t.Context(), event("echo", ""))
		if err != nil && !errors.As(err, &timeout) {
			t.Fatal(err)
		}
		check.Equal(t, r.ColdStarts(), 2, "cold starts after the kill")
		select {
		case conn := <-arrivals:
			dead(t, conn)
			return
		default: // too busy to run the function at all
		}
	}
}

func TestInitErrors(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]string{"INIT=exit": "exit status 3", "INIT=hang": "timed out after 300ms"} {
		t.Run(env, func(t *testing.T) {
			t.Parallel()
			f := lambdaruntime.Function{Env: []string{env}}
			if env == "INIT=hang" {
				f.InitTimeout = 300 * time.Millisecond
			}
			_, err := start(t, f).Invoke(t.Context(), event("echo", ""))
			var failed *lambdaruntime.InitError
			if !errors.As(err, &failed) || failed.Status != want {
				t.Fatalf("got %v", err)
			}
			if env == "INIT=exit" && failed.Output != "no configuration\n" {
				t.Errorf("output %q", failed.Output)
			}
		})
	}
}

func TestRefusesWhatLambdaRefuses(t *testing.T) {
	t.Parallel()
	r := start(t, lambdaruntime.Function{})
	for _, payload := range []string{"", "{", `"` + strings.Repeat("x", 6<<20) + `"`} {
		_, err := r.Invoke(t.Context(), []byte(payload))
		check.Failed(t, err, payload)
	}
	check.Equal(t, r.ColdStarts(), 0, "processes for nothing")
	for _, f := range []lambdaruntime.Function{{}, {Binary: "testdata"}, {Binary: probe, Environments: -1}} {
		_, err := lambdaruntime.Start(t.Context(), f)
		check.Failed(t, err, f)
	}
}

func TestBuildFails(t *testing.T) {
	t.Parallel()
	_, err := lambdaruntime.Build(t.Context(), ".", "./testdata/nothing")
	check.Failed(t, err, "built nothing")
}
