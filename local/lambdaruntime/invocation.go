package lambdaruntime

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"
)

// A Response is the response of a function.
type Response struct {
	// Payload is the response as sent. With a FunctionError, it is its JSON.
	Payload []byte
	// FunctionError is not nil if the function failed.
	FunctionError *FunctionError
	// Environment is the number of the environment that responded.
	Environment int
	// Cold reports whether the process was started for this invocation.
	Cold      bool
	RequestID string
	// Duration is the duration of the invocation, without the start of a
	// process.
	Duration time.Duration
}

type invocation struct {
	id      string
	trace   string
	payload []byte
	client  string // the client context as JSON, or ""
	// deadline is set when the function receives the event, as on AWS: the start
	// of a process does not count.
	deadline time.Time

	// answered receives the response, once.
	answered chan Response
}

type clientContextKey struct{}

// WithClientContext returns a context for Invoke, with the client context of the
// invocation as JSON. AgentCore Gateway names the tool there, which it calls.
func WithClientContext(ctx context.Context, text string) context.Context {
	return context.WithValue(ctx, clientContextKey{}, text)
}

func newInvocation(ctx context.Context, payload []byte) *invocation {
	client, _ := ctx.Value(clientContextKey{}).(string)
	return &invocation{
		id:       fmt.Sprintf("%x-%x-%x-%x-%x", random(4), random(2), random(2), random(2), random(6)),
		trace:    fmt.Sprintf("Root=1-%x-%x;Parent=%x;Sampled=0", time.Now().Unix(), random(12), random(8)),
		payload:  payload,
		client:   client,
		answered: make(chan Response, 1),
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails: it crashes the program instead
	return b
}
