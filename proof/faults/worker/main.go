// Command worker is the function of the tests: it waits in the middle of its work,
// has one countable effect, and finishes as its event says.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/idempotent"
)

// An Event is one request.
type Event struct {
	Key string `json:"key"`
	// Finish is "ok", "permanent", "error" or "panic".
	Finish string `json:"finish"`
	// Addr is the address of the test. If it is "", the work does not wait.
	Addr string `json:"addr"`
}

// A Result identifies the attempt and the process that did the work.
type Result struct {
	Attempt int64  `json:"attempt"`
	PID     int    `json:"pid"`
	Effect  string `json:"effect"`
}

// A DeclinedError is permanent.
type DeclinedError struct{}

func (*DeclinedError) Error() string { return "card declined" }

// A BusyError is retryable.
type BusyError struct{}

func (*BusyError) Error() string { return "the bank is busy" }

func main() {
	s, err := settingsFromEnv()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	key := func(e Event) (idempotent.Key, error) { return idempotent.Key{ID: e.Key}, nil }
	lambda.Start(idempotent.Wrap(s.executor, key, s.work))
}

// work ignores the end of its context, as the worst of zombies does.
func (s *settings) work(ctx context.Context, e Event) (Result, error) {
	claim, _ := idempotent.FromContext(ctx)
	ctx = context.WithoutCancel(ctx)
	result := Result{Attempt: claim.Attempt, PID: os.Getpid()}
	effect := func() (err error) {
		result.Effect, err = s.effect(ctx, e.Key)
		return err
	}
	var err error
	if e.Addr == "" {
		err = effect()
	} else {
		err = directed(e.Addr, result, effect)
	}
	if err != nil {
		return result, err
	}
	switch e.Finish {
	case "ok":
		return result, nil
	case "permanent":
		return result, idempotent.Permanent(&DeclinedError{})
	case "error":
		return result, &BusyError{}
	case "panic":
		panic("as requested")
	}
	return result, fmt.Errorf("unknown finish %q", e.Finish)
}
