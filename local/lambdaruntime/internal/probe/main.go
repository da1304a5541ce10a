// Command probe is the function of the tests, a script of actions in its event.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

type event struct {
	Do   string `json:"do"`
	Addr string `json:"addr"`
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

type DeclinedError struct{}

func (*DeclinedError) Error() string { return "card declined" }

// process survives from one invocation to the next.
type process struct {
	once  sync.Once
	ticks atomic.Int64
	held  []net.Conn
}

func main() {
	switch os.Getenv("INIT") {
	case "exit":
		fmt.Fprintln(os.Stderr, "no configuration")
		os.Exit(3)
	case "hang":
		time.Sleep(time.Hour)
	}
	lambda.Start(new(process).handle)
}

func (p *process) handle(ctx context.Context, e event) (any, error) {
	switch e.Do {
	case "echo":
		return echo(ctx)
	case "typed":
		return nil, &DeclinedError{}
	case "plain":
		return nil, errors.New("it failed")
	case "panic":
		panic("at the disco")
	case "exit":
		fmt.Print("last words")
		os.Exit(4)
	case "big":
		return strings.Repeat("x", 7<<20), nil
	case "broken stream":
		return io.MultiReader(strings.NewReader("half"), failing{}), nil
	case "tick":
		return p.tick(), nil
	case "call":
		return call(ctx, e.Addr)
	case "get":
		return nil, get(e.Addr)
	case "hold":
		return nil, p.hold(e.Addr)
	case "hang":
		if err := p.hold(e.Addr); err != nil {
			return nil, err
		}
		time.Sleep(time.Hour)
	}
	return nil, fmt.Errorf("unknown action %q", e.Do)
}

func echo(ctx context.Context) (any, error) {
	lc, ok := lambdacontext.FromContext(ctx)
	if !ok {
		return nil, errors.New("no lambda context")
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return nil, errors.New("no deadline")
	}
	return answer{
		RequestID: lc.AwsRequestID, ARN: lc.InvokedFunctionArn, Function: lambdacontext.FunctionName,
		Deadline: deadline.UnixMilli(), Now: time.Now().UnixMilli(), Env: os.Environ(),
	}, nil
}

// tick counts milliseconds in the background, for as long as the process lives.
func (p *process) tick() any {
	before := p.ticks.Load()
	p.once.Do(func() {
		ticking := make(chan struct{})
		go func() {
			for range time.Tick(time.Millisecond) {
				if p.ticks.Add(1) == 1 {
					close(ticking)
				}
			}
		}()
		<-ticking
	})
	return answer{Before: before, After: p.ticks.Load()}
}

// call waits for the test to answer, however late, and says how late it was.
func call(ctx context.Context, addr string) (any, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	_, err = io.ReadFull(conn, make([]byte, 1))
	if err := errors.Join(err, conn.Close()); err != nil {
		return nil, err
	}
	// Not ctx.Err: the timer that cancels runs no sooner than this does.
	deadline, ok := ctx.Deadline()
	return answer{Late: ok && time.Now().After(deadline)}, nil
}

// get asks for three things, one after the other.
func get(url string) error {
	for _, thing := range []string{"/one", "/two?n=2", "/three"} {
		res, err := http.Get(url + thing)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(res.Body)
		if err := errors.Join(err, res.Body.Close()); err != nil {
			return err
		}
		if res.StatusCode != http.StatusTeapot || string(text) != "answer to "+thing {
			return fmt.Errorf("%s: %s %s", thing, res.Status, text)
		}
	}
	return nil
}

// hold keeps a connection open until the process dies.
func (p *process) hold(addr string) error {
	conn, err := net.Dial("tcp", addr)
	p.held = append(p.held, conn)
	return err
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, &DeclinedError{} }
