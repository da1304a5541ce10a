package lambdaruntime_test

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/lambda-once/once/local/lambdaruntime"
)

// ticks waits for a clock of the same kind as the one in the function.
func ticks(n int) {
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for range n {
		<-ticker.C
	}
}

func TestFrozenBetweenInvocations(t *testing.T) {
	r := start(t, lambdaruntime.Function{})
	// It ticks on before it is frozen and after it is thawed, on a busy machine for
	// some time.
	for waited := 500; ; waited *= 4 {
		_, first := invoke(t, r, "tick")
		ticks(waited)
		_, second := invoke(t, r, "tick")
		if second.Before == 0 {
			t.Error("it never ticked")
		}
		n := int(second.Before - first.After)
		if n <= waited/2 {
			return
		}
		if waited > 30_000 {
			t.Fatalf("%d ticks in the background while %d went by", n, waited)
		}
	}
}

// A zombie: held beyond its deadline it is not killed, and acts when it wakes.
func TestFreezeInTheMiddle(t *testing.T) {
	r := start(t, lambdaruntime.Function{Timeout: 5 * time.Second, Grace: time.Minute})
	addr, accept := listen(t)
	e := r.Environment(0)
	call := goInvoke(t, e.Invoke, event("call", addr))
	conn := accept()
	if err := e.Freeze(); err != nil {
		t.Fatal(err)
	}
	let(t, conn)
	ticks(6000)
	select {
	case <-call.done:
		t.Fatalf("a frozen function answered: %+v, %v", call.res, call.err)
	default:
	}
	if err := e.Thaw(); err != nil {
		t.Fatal(err)
	}
	res, err := call.wait(t)
	if err != nil {
		t.Fatal(err)
	}
	if got := decode(t, res); !got.Late {
		t.Error("the function believes that it is in time")
	}
	for name, f := range map[string]func() error{"Freeze": e.Freeze, "Thaw": e.Thaw} {
		if err := f(); !errors.Is(err, lambdaruntime.ErrIdle) {
			t.Errorf("%s of an idle environment: %v", name, err)
		}
	}
}

func TestThawedIsKilledInTheEnd(t *testing.T) {
	r := start(t, lambdaruntime.Function{Timeout: 5 * time.Second, Grace: time.Millisecond})
	addr, accept := listen(t)
	e := r.Environment(0)
	call := goInvoke(t, e.Invoke, event("hang", addr))
	conn := accept()
	if err := e.Freeze(); err != nil {
		t.Fatal(err)
	}
	ticks(6000)
	if err := e.Thaw(); err != nil {
		t.Fatal(err)
	}
	_, err := call.wait(t)
	var timeout *lambdaruntime.TimeoutError
	if !errors.As(err, &timeout) {
		t.Fatalf("got %v", err)
	}
	dead(t, conn)
}

func TestKill(t *testing.T) {
	r := start(t, lambdaruntime.Function{})
	addr, accept := listen(t)
	e := r.Environment(0)
	if err := e.Kill(); err != nil {
		t.Fatalf("nothing to kill: %v", err)
	}
	for _, frozen := range []bool{false, true} {
		call := goInvoke(t, e.Invoke, event("hang", addr))
		conn := accept()
		if frozen {
			if err := e.Freeze(); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Kill(); err != nil {
			t.Fatal(err)
		}
		dead(t, conn)
		_, err := call.wait(t)
		var crash *lambdaruntime.CrashedError
		if !errors.As(err, &crash) || crash.Status != "signal: killed" {
			t.Fatalf("got %v", err)
		}
	}
	if res, _ := invoke(t, r, "echo"); !res.Cold {
		t.Error("a killed process answers")
	}
	if err := e.Kill(); err != nil { // idle, and therefore stopped
		t.Fatal(err)
	}
	if res, _ := invoke(t, r, "echo"); !res.Cold || e.ColdStarts() != 4 {
		t.Errorf("cold: %v, %d cold starts", res.Cold, e.ColdStarts())
	}
}

func TestEnvironmentsRunAtOnceAndOthersWait(t *testing.T) {
	r := start(t, lambdaruntime.Function{Environments: 4})
	addr, accept := listen(t)
	var calls []*later
	for range 6 {
		calls = append(calls, goInvoke(t, r.Invoke, event("call", addr)))
	}
	var inside []net.Conn
	for range 4 { // none has been let go: so they are all there at once
		inside = append(inside, accept())
	}
	if n := r.ColdStarts(); n != 4 {
		t.Errorf("%d cold starts", n)
	}
	for _, conn := range inside {
		let(t, conn)
	}
	for range 2 {
		let(t, accept())
	}
	requests := map[string]bool{}
	for _, c := range calls {
		res, err := c.wait(t)
		if err != nil {
			t.Fatal(err)
		}
		requests[res.RequestID] = true
	}
	if len(requests) != 6 || r.ColdStarts() != 4 {
		t.Errorf("%d requests, %d cold starts", len(requests), r.ColdStarts())
	}
}

func TestCallerGoesAway(t *testing.T) {
	r := start(t, lambdaruntime.Function{})
	addr, accept := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	call := goInvoke(t, func(_ context.Context, p []byte) (lambdaruntime.Response, error) { return r.Invoke(ctx, p) }, event("call", addr))
	conn := accept()
	cancel()
	if _, err := call.wait(t); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	waiting := goInvoke(t, r.Invoke, event("echo", ""))
	let(t, conn) // the function is there still, and only now makes room
	if res, err := waiting.wait(t); err != nil || res.Cold {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestClose(t *testing.T) {
	addr, accept := listen(t)
	for _, byContext := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := lambdaruntime.Start(ctx, lambdaruntime.Function{Binary: os.Getenv(handlerVar), Timeout: time.Minute, Environments: 2})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Invoke(t.Context(), event("hold", addr)); err != nil {
			t.Fatal(err)
		}
		idle := accept()
		call := goInvoke(t, r.Environment(1).Invoke, event("hang", addr))
		busy := accept()
		if byContext {
			cancel()
			dead(t, idle)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		dead(t, idle)
		dead(t, busy)
		if _, err := call.wait(t); !errors.Is(err, lambdaruntime.ErrClosed) {
			t.Errorf("got %v", err)
		}
		if _, err := r.Invoke(t.Context(), event("echo", "")); !errors.Is(err, lambdaruntime.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
}

// Whoever has seen a log stream's name can say which process wrote it.
func TestLogStreamIsTheProcess(t *testing.T) {
	r := start(t, lambdaruntime.Function{Environments: 2})
	addr, accept := listen(t)
	if name := r.Environment(0).LogStream(); name != "" {
		t.Errorf("%q before the first start", name)
	}
	seen := map[string]bool{}
	for i := range r.Environments() {
		e := r.Environment(i)
		for range 2 {
			_, got := invoke(t, e, "echo")
			name := e.LogStream()
			if name == "" || seen[name] || !slices.Contains(got.Env, "AWS_LAMBDA_LOG_STREAM_NAME="+name) {
				t.Errorf("log stream %q, after %v, in %q", name, seen, got.Env)
			}
			seen[name] = true
			if _, again := invoke(t, e, "echo"); !slices.Contains(again.Env, "AWS_LAMBDA_LOG_STREAM_NAME="+name) {
				t.Errorf("%q is not in %q", name, again.Env)
			}
			call := goInvoke(t, e.Invoke, event("hang", addr))
			accept()
			if err := e.Kill(); err != nil {
				t.Fatal(err)
			}
			_, err := call.wait(t)
			var crash *lambdaruntime.CrashedError
			if !errors.As(err, &crash) || crash.LogStream != name || e.LogStream() != name {
				t.Errorf("%q died with %v", name, err)
			}
		}
	}
}
