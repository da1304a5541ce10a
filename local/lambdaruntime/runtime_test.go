package lambdaruntime_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/local/lambdaruntime"
)

func TestEcho(t *testing.T) {
	t.Setenv("ONCE_SECRET_OF_THE_PARENT", "1")
	r := start(t, lambdaruntime.Function{Name: "payments", MemoryMB: 512, Env: []string{"TABLE=once"}})
	res, got := invoke(t, r, "echo")
	if got.RequestID == "" || got.RequestID != res.RequestID {
		t.Errorf("request id %q in the function, %q outside", got.RequestID, res.RequestID)
	}
	if got.Function != "payments" || got.MemoryMB != 512 || got.ARN != "arn:aws:lambda:us-east-1:123456789012:function:payments" {
		t.Errorf("function %q with %d MB, %q", got.Function, got.MemoryMB, got.ARN)
	}
	if left := got.Deadline - got.Now; left <= 0 || left > time.Minute.Milliseconds() {
		t.Errorf("%d ms were left", left)
	}
	if !slices.Contains(got.Env, "TABLE=once") {
		t.Errorf("its own environment is missing in %q", got.Env)
	}
	for _, e := range got.Env {
		if strings.HasPrefix(e, "HOME=") || strings.HasPrefix(e, "ONCE_") {
			t.Errorf("the function sees %s", e)
		}
	}
	if !res.Cold || res.ContentType != "application/json" {
		t.Errorf("cold: %v, content type %q", res.Cold, res.ContentType)
	}
	again, _ := invoke(t, r, "echo")
	if again.Cold || again.RequestID == res.RequestID || r.ColdStarts() != 1 {
		t.Errorf("cold: %v, request id %q, %d cold starts", again.Cold, again.RequestID, r.ColdStarts())
	}
}

func TestFunctionErrors(t *testing.T) {
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
			r := start(t, lambdaruntime.Function{})
			res, err := r.Invoke(t.Context(), event(test.do, ""))
			if err != nil {
				t.Fatal(err)
			}
			failure := res.FunctionError
			if failure == nil || failure.Type != test.kind || !strings.Contains(failure.Message, test.message) {
				t.Fatalf("got %+v", failure)
			}
			if test.do == "panic" && len(failure.StackTrace) == 0 {
				t.Error("a panic without a stack trace")
			}
			if next, _ := invoke(t, r, "echo"); next.Cold != test.dies {
				t.Errorf("the next start is cold: %v, want %v", next.Cold, test.dies)
			}
		})
	}
}

func TestCrash(t *testing.T) {
	log := new(lines)
	r := start(t, lambdaruntime.Function{Name: "f", Log: log})
	_, err := r.Invoke(t.Context(), event("exit", ""))
	var crash *lambdaruntime.CrashedError
	if !errors.As(err, &crash) || crash.Status != "exit status 4" || crash.Output != "last words" || crash.RequestID == "" {
		t.Fatalf("got %#v", err)
	}
	if got := log.String(); got != "f/0 last words\n" {
		t.Errorf("logged %q", got)
	}
	if next, _ := invoke(t, r, "echo"); !next.Cold || r.ColdStarts() != 2 {
		t.Errorf("cold: %v, %d cold starts", next.Cold, r.ColdStarts())
	}
}

func TestTimeout(t *testing.T) {
	r := start(t, lambdaruntime.Function{Timeout: 5 * time.Second})
	addr, accept := listen(t)
	_, err := r.Invoke(t.Context(), event("hang", addr))
	var timeout *lambdaruntime.TimeoutError
	if !errors.As(err, &timeout) || !strings.HasSuffix(err.Error(), "Task timed out after 5.00 seconds") || timeout.LogStream != r.Environment(0).LogStream() {
		t.Fatalf("got %v", err)
	}
	dead(t, accept())
	if n := r.ColdStarts(); n != 1 {
		t.Errorf("%d cold starts", n)
	}
	// The machine may be too busy, but a process must have begun.
	_, err = r.Invoke(t.Context(), event("echo", ""))
	if err != nil && !errors.As(err, &timeout) {
		t.Fatal(err)
	}
	if n := r.ColdStarts(); n != 2 {
		t.Errorf("%d cold starts after the kill", n)
	}
}

func TestInitErrors(t *testing.T) {
	for env, want := range map[string]string{"INIT=exit": "exit status 3", "INIT=hang": "timed out after 300ms"} {
		t.Run(env, func(t *testing.T) {
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
	r := start(t, lambdaruntime.Function{})
	for _, payload := range []string{"", "{", `"` + strings.Repeat("x", 6<<20) + `"`} {
		if _, err := r.Invoke(t.Context(), []byte(payload)); err == nil {
			t.Errorf("took %.20q", payload)
		}
	}
	if n := r.ColdStarts(); n != 0 {
		t.Errorf("%d processes for nothing", n)
	}
	for _, f := range []lambdaruntime.Function{{}, {Binary: "testdata"}, {Binary: os.Getenv(handlerVar), Environments: -1}} {
		if _, err := lambdaruntime.Start(t.Context(), f); err == nil {
			t.Errorf("started %+v", f)
		}
	}
}

func TestBuildFails(t *testing.T) {
	if _, err := lambdaruntime.Build(t.Context(), ".", "./testdata/nothing"); err == nil {
		t.Error("built nothing")
	}
}
