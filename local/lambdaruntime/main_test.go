package lambdaruntime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// probe is the compiled function of these tests.
var probe string

func TestMain(m *testing.M) {
	binary, err := lambdaruntime.Build(context.Background(), ".", "./internal/probe")
	if err != nil {
		panic(err)
	}
	probe = binary
	code := m.Run()
	if err := os.RemoveAll(filepath.Dir(binary)); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// start runs the compiled function. A generous timeout for a busy machine is
// the default; tests of timeouts set their own.
func start(t *testing.T, f lambdaruntime.Function) *lambdaruntime.Runtime {
	t.Helper()
	f.Binary = probe
	if f.Timeout == 0 {
		f.Timeout = time.Minute
	}
	if f.InitTimeout == 0 {
		f.InitTimeout = time.Minute
	}
	return lambdaruntime.StartTest(t, f)
}

type answer struct {
	RequestID string   `json:"request_id"`
	ARN       string   `json:"arn"`
	Function  string   `json:"function"`
	Deadline  int64    `json:"deadline"`
	Now       int64    `json:"now"`
	Env       []string `json:"env"`
	Late      bool     `json:"late"`
	Before    int64    `json:"before"`
	After     int64    `json:"after"`
}

func event(do, addr string) []byte {
	return fmt.Appendf(nil, `{"do":%q,"addr":%q}`, do, addr)
}

// invoker is a runtime or one of its environments.
type invoker interface {
	Invoke(context.Context, []byte) (lambdaruntime.Response, error)
}

// invoke expects an answer.
func invoke(t *testing.T, r invoker, do string) (lambdaruntime.Response, answer) {
	t.Helper()
	res, err := r.Invoke(t.Context(), event(do, ""))
	check.Must(t, err)
	return res, decode(t, res)
}

func decode(t *testing.T, res lambdaruntime.Response) answer {
	t.Helper()
	if res.FunctionError != nil {
		t.Fatal(res.FunctionError)
	}
	var a answer
	check.Must(t, json.Unmarshal(res.Payload, &a))
	return a
}

// later is an invocation that goes on while the test does other things.
type later struct {
	res  lambdaruntime.Response
	err  error
	done chan struct{}
}

func goInvoke(t *testing.T, invoke func(context.Context, []byte) (lambdaruntime.Response, error), payload []byte) *later {
	l := &later{done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.res, l.err = invoke(t.Context(), payload)
	}()
	return l
}

func (l *later) wait(t *testing.T) (lambdaruntime.Response, error) {
	t.Helper()
	select {
	case <-l.done:
	case <-time.After(2 * time.Minute):
		t.Fatal("the invocation does not end")
	}
	return l.res, l.err
}

// listen returns the address that functions call or hold, and their connections.
func listen(t *testing.T) (addr string, arrivals <-chan net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.Must(t, err)
	t.Cleanup(func() {
		check.Nil(t, l.Close())
	})
	conns := make(chan net.Conn, 8)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			conns <- conn
		}
	}()
	return l.Addr().String(), conns
}

// let answers a function that waits in "call".
func let(t *testing.T, conn net.Conn) {
	t.Helper()
	_, err := io.WriteString(conn, "!")
	check.Nil(t, err)
}

// dead waits until the kernel has closed the connection of a dead process.
func dead(t *testing.T, conn net.Conn) {
	t.Helper()
	check.Must(t, conn.SetReadDeadline(time.Now().Add(2*time.Minute)))
	if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the process is alive: %v", err)
	}
}
