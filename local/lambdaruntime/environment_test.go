package lambdaruntime_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
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
	t.Parallel()
	r := start(t, lambdaruntime.Function{})
	// It ticks on before it is frozen and after it is thawed, on a busy machine for
	// some time.
	for waited := 500; ; waited *= 4 {
		_, first := invoke(t, r, "tick")
		ticks(waited)
		_, second := invoke(t, r, "tick")
		check.Differ(t, second.Before, 0, "it never ticked")
		n := int(second.Before - first.After)
		if n <= waited/2 {
			return
		}
		if waited > 30_000 {
			t.Fatalf("%d ticks in the background while %d went by", n, waited)
		}
	}
}

// freeze freezes a function in its invocation. It returns the timeout, which is short
// unless a busy machine takes longer to run the function.
func freeze(t *testing.T, do string, grace time.Duration) (e *lambdaruntime.Environment, call *later, conn net.Conn, timeout time.Duration) {
	t.Helper()
	for timeout = 250 * time.Millisecond; ; timeout *= 4 {
		e = start(t, lambdaruntime.Function{Timeout: timeout, Grace: grace}).Environment(0)
		addr, arrivals := listen(t)
		call = goInvoke(t, e.Invoke, event(do, addr))
		select {
		case conn = <-arrivals:
			err := e.Freeze()
			if err == nil {
				return e, call, conn, timeout
			}
			check.Is(t, err, lambdaruntime.ErrIdle)
		case <-call.done:
		}
		_, err := call.wait(t)
		check.As[*lambdaruntime.TimeoutError](t, err)
	}
}

// A zombie: held beyond its deadline it is not killed, and acts when it wakes.
func TestFreezeInTheMiddle(t *testing.T) {
	t.Parallel()
	e, call, conn, timeout := freeze(t, "call", time.Minute)
	let(t, conn)
	ticks(int(2 * timeout.Milliseconds()))
	select {
	case <-call.done:
		t.Fatalf("a frozen function answered: %+v, %v", call.res, call.err)
	default:
	}
	check.Must(t, e.Thaw())
	res, err := call.wait(t)
	check.Must(t, err)
	check.True(t, decode(t, res).Late, "the function believes that it is in time")
	for name, f := range map[string]func() error{"Freeze": e.Freeze, "Thaw": e.Thaw} {
		check.Is(t, f(), lambdaruntime.ErrIdle, "of an idle environment", name)
	}
}

func TestThawedIsKilledInTheEnd(t *testing.T) {
	t.Parallel()
	e, call, conn, timeout := freeze(t, "hang", time.Millisecond)
	ticks(int(2 * timeout.Milliseconds()))
	check.Must(t, e.Thaw())
	_, err := call.wait(t)
	check.As[*lambdaruntime.TimeoutError](t, err)
	dead(t, conn)
}

func TestKill(t *testing.T) {
	t.Parallel()
	r := start(t, lambdaruntime.Function{})
	addr, arrivals := listen(t)
	e := r.Environment(0)
	check.Must(t, e.Kill())
	for _, frozen := range []bool{false, true} {
		call := goInvoke(t, e.Invoke, event("hang", addr))
		conn := <-arrivals
		if frozen {
			check.Must(t, e.Freeze())
		}
		check.Must(t, e.Kill())
		dead(t, conn)
		_, err := call.wait(t)
		var crash *lambdaruntime.CrashedError
		if !errors.As(err, &crash) || crash.Status != "signal: killed" {
			t.Fatalf("got %v", err)
		}
	}
	res, _ := invoke(t, r, "echo")
	check.True(t, res.Cold, "a killed process answers")
	if err := e.Kill(); err != nil { // idle, and therefore stopped
		t.Fatal(err)
	}
	if res, _ := invoke(t, r, "echo"); !res.Cold || e.ColdStarts() != 4 {
		t.Errorf("cold: %v, %d cold starts", res.Cold, e.ColdStarts())
	}
}

func TestEnvironmentsRunAtOnceAndOthersWait(t *testing.T) {
	t.Parallel()
	r := start(t, lambdaruntime.Function{Environments: 4})
	addr, arrivals := listen(t)
	var calls []*later
	for range 6 {
		calls = append(calls, goInvoke(t, r.Invoke, event("call", addr)))
	}
	var inside []net.Conn
	for range 4 { // none has been let go: so they are all there at once
		inside = append(inside, <-arrivals)
	}
	check.Equal(t, r.ColdStarts(), 4, "cold starts")
	for _, conn := range inside {
		let(t, conn)
	}
	for range 2 {
		let(t, <-arrivals)
	}
	requests := map[string]bool{}
	for _, c := range calls {
		res, err := c.wait(t)
		check.Must(t, err)
		requests[res.RequestID] = true
	}
	check.Equal(t, len(requests), 6)
	check.Equal(t, r.ColdStarts(), 4)
}

func TestCallerGoesAway(t *testing.T) {
	t.Parallel()
	r := start(t, lambdaruntime.Function{})
	addr, arrivals := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	call := goInvoke(t, func(_ context.Context, p []byte) (lambdaruntime.Response, error) { return r.Invoke(ctx, p) }, event("call", addr))
	conn := <-arrivals
	cancel()
	if _, err := call.wait(t); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	waiting := goInvoke(t, r.Invoke, event("echo", ""))
	let(t, conn) // the function is there still, and only now makes room
	res, err := waiting.wait(t)
	check.Nil(t, err)
	check.False(t, res.Cold)
}

func TestClose(t *testing.T) {
	t.Parallel()
	addr, arrivals := listen(t)
	for _, byContext := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := lambdaruntime.Start(ctx, lambdaruntime.Function{Binary: probe, Timeout: time.Minute, Environments: 2})
		check.Must(t, err)
		_, err = r.Invoke(t.Context(), event("hold", addr))
		check.Must(t, err)
		idle := <-arrivals
		call := goInvoke(t, r.Environment(1).Invoke, event("hang", addr))
		busy := <-arrivals
		if byContext {
			cancel()
			dead(t, idle)
		}
		check.Must(t, r.Close())
		dead(t, idle)
		dead(t, busy)
		_, err = call.wait(t)
		check.Is(t, err, lambdaruntime.ErrClosed)
		_, err = r.Invoke(t.Context(), event("echo", ""))
		check.Is(t, err, lambdaruntime.ErrClosed)
	}
}

// Whoever has seen a log stream's name can say which process wrote it.
func TestLogStreamIsTheProcess(t *testing.T) {
	t.Parallel()
	r := start(t, lambdaruntime.Function{Environments: 2})
	addr, arrivals := listen(t)
	check.Equal(t, r.Environment(0).LogStream(), "", "before the first start")
	seen := map[string]bool{}
	for i := range r.Environments() {
		e := r.Environment(i)
		for range 2 {
			_, got := invoke(t, e, "echo")
			name := e.LogStream()
			check.Differ(t, name, "")
			check.True(t, slices.Contains(got.Env, "AWS_LAMBDA_LOG_STREAM_NAME="+name))
			if seen[name] {
				t.Errorf("log stream %q, after %v, in %q", name, seen, got.Env)
			}
			seen[name] = true
			_, again := invoke(t, e, "echo")
			check.True(t, slices.Contains(again.Env, "AWS_LAMBDA_LOG_STREAM_NAME="+name))
			call := goInvoke(t, e.Invoke, event("hang", addr))
			<-arrivals
			check.Must(t, e.Kill())
			_, err := call.wait(t)
			crash := check.As[*lambdaruntime.CrashedError](t, err)
			check.Equal(t, crash.LogStream, name)
			check.Equal(t, e.LogStream(), name)
		}
	}
}
