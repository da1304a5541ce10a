// Command worker is the function of the tests: it stops in the middle of its
// work, has one effect that can be counted, and ends as its event says.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/idempotent"
)

// Event is one request.
type Event struct {
	Key string `json:"key"`
	// End is "ok", "permanent", "error" or "panic".
	End string `json:"end"`
	// Addr is where the test listens; without it nothing stops the work.
	Addr string `json:"addr"`
}

// Result tells who has done the work.
type Result struct {
	Attempt int64  `json:"attempt"`
	PID     int    `json:"pid"`
	Effect  string `json:"effect"`
}

// DeclinedError is permanent.
type DeclinedError struct{}

func (*DeclinedError) Error() string { return "card declined" }

// BusyError is worth a retry.
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

// work ignores that its context ends: the worst of zombies.
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
	switch e.End {
	case "ok":
		return result, nil
	case "permanent":
		return result, idempotent.Permanent(&DeclinedError{})
	case "error":
		return result, &BusyError{}
	case "panic":
		panic("as asked")
	}
	return result, fmt.Errorf("what end is %q", e.End)
}
