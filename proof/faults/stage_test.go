package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// stage is a server on which running handlers wait for commands of the test.
type stage struct {
	addr   string
	actors chan *actor
}

// actor is a running handler.
type actor struct {
	result // as far as it is known before the effect
	t      *testing.T
	conn   net.Conn
	said   *bufio.Reader
}

func newStage(t *testing.T) *stage {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.Must(t, err)
	s := &stage{addr: l.Addr().String(), actors: make(chan *actor, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed below
			}
			t.Cleanup(func() { conn.Close() })
			a := &actor{t: t, conn: conn, said: bufio.NewReader(conn)}
			line, err := a.said.ReadBytes('\n')
			if err == nil {
				err = json.Unmarshal(line, &a.result)
			}
			if err != nil {
				t.Errorf("an actor that cannot speak: %v", err)
				continue
			}
			s.actors <- a
		}
	}()
	t.Cleanup(func() {
		check.Nil(t, l.Close())
		<-done
	})
	return s
}

// effect returns when the handler has had its effect.
func (a *actor) effect() {
	a.t.Helper()
	a.say("effect\n")
	if err := a.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		a.t.Fatal(err)
	}
	if line, err := a.said.ReadString('\n'); err != nil || line != "done\n" {
		a.t.Fatalf("no effect: %q, %v", line, err)
	}
}

// finish lets the handler return.
func (a *actor) finish() {
	a.t.Helper()
	a.say("finish\n")
}

func (a *actor) say(command string) {
	a.t.Helper()
	if _, err := io.WriteString(a.conn, command); err != nil {
		a.t.Fatal(err)
	}
}

// worker is the compiled function.
var worker string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	var err error
	if worker, err = lambdaruntime.Build(context.Background(), ".", "./worker"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := os.RemoveAll(filepath.Dir(worker)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	return dynamodblocal.Main(m)
}
