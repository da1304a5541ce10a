package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// groupFaults are all faults of a shared request.
var groupFaults = map[string]wire.Carry{
	"not sent":    failing(wire.ErrCut),
	"answer lost": unanswered,
	"half executed, answer lost": func(r *wire.Request) (*wire.Response, error) {
		_, err := some("", odd)(r)
		return nil, errors.Join(wire.ErrCut, err)
	},
	"half throttled":                          some("ThrottlingError", odd),
	"half of it too fast":                     some("ProvisionedThroughputExceeded", odd),
	"half in conflict":                        some("TransactionConflict", odd),
	"half failed":                             some("InternalServerError", odd),
	"half failed and executed":                executed("InternalServerError", odd),
	"half refused although executed":          executed("ConditionalCheckFailed", odd),
	"all duplicates of themselves":            executed("DuplicateItem", func(int) bool { return true }),
	"half not valid":                          some("ValidationError", odd),
	"half without a code":                     some("", odd),
	"half with a code of another day":         some("Novelty", odd),
	"executed, and an answer is missing":      answeredWith(string(encode(responsesBody{}))),
	"executed, and no answers":                answeredWith("{}"),
	"executed, and an answer that is no JSON": answeredWith("<html>"),
	"throttled":                               refusing(400, "ThrottlingException", "slow"),
}

// answeredWith sends a request, and replaces its answer.
func answeredWith(body string) wire.Carry {
	return func(r *wire.Request) (*wire.Response, error) {
		if _, err := r.Send(); err != nil {
			return nil, err
		}
		return answering(200, body)(r)
	}
}

func odd(i int) bool { return i%2 == 1 }

// Whatever happens to a shared request: every call runs once and returns its own
// result, and so do its repetitions.
func TestFaultsOfASharedRequestChangeNoResult(t *testing.T) {
	t.Parallel()
	retries := map[string]func(*dynamodb.Options){
		"alone again": func(*dynamodb.Options) {},
		"sent again by the SDK": func(o *dynamodb.Options) {
			o.Retryer = atOnce()
		},
	}
	for again, option := range retries {
		t.Run(again, func(t *testing.T) {
			s, net := intercepted(t, option)
			x := executor(t, s, nil)
			for name, f := range groupFaults {
				for _, write := range []string{"claim", "completion", "release"} {
					t.Run(name+"/"+write, func(t *testing.T) {
						sent := runsOnce(t, s, x, net, firstTime(f), write)
						check.True(t, strings.Count(sent, opBatch) >= 2, sent, "the writes did not share requests")
					})
				}
			}
		})
	}
}

// Its call has failed, and has perhaps been taken back.
func TestWriteOfACallerThatLeftIsNotSentAgain(t *testing.T) {
	s, net := intercepted(t, func(o *dynamodb.Options) { o.Retryer = atOnce() })
	leave, left := make(chan context.CancelFunc, 1), make(chan struct{})
	net.on(opBatch, firstTime(func(*wire.Request) (*wire.Response, error) {
		(<-leave)()
		<-left
		return nil, wire.ErrCut
	}))
	var all [3]met
	together(t, len(all), func(ctx context.Context, i int) {
		if i == 1 {
			defer close(left)
			leaving, cancel := context.WithCancel(ctx)
			leave <- cancel
			ctx = leaving
		}
		all[i].record, all[i].ok, all[i].err = s.Create(ctx, claim(id(i)), now, nil)
	})
	for i, m := range all {
		r := get(t, s, id(i))
		check.Equal(t, m.ok, i != 1)
		check.Equal(t, r.Status == driver.InProgress, i != 1)
	}
}

// atOnce is the SDK's retryer without its pauses.
func atOnce() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
	})
}

// runsOnce makes some calls at once, with a fault of the shared request of one of
// their writes, and then makes them again. It returns the operations of the first time.
func runsOnce(t *testing.T, s *Store, x *idempotent.Executor, net *network, fault wire.Carry, write string) (sent string) {
	t.Helper()
	const n = 6
	var runs [n]atomic.Int64
	var ran, calls sync.WaitGroup
	ran.Add(n)
	var next sync.Once
	run := rand.Text()
	key := func(i int) idempotent.Key { return idempotent.Key{Record: fmt.Sprintf("%s/%d", run, i)} }
	if write == "claim" {
		net.on(opBatch, fault)
	}
	var siblings countdown
	siblings.left.Store(n)
	limited, cancel := context.WithTimeout(t.Context(), time.Minute) // for a call that hangs
	defer cancel()
	ctx := adapter.With(limited, adapter.Sibling(siblings.Arrive))
	errBusy := errors.New("busy")
	for i := range n {
		calls.Go(func() {
			got, err := idempotent.Do(ctx, x, key(i), func(context.Context) (int, error) {
				runs[i].Add(1)
				ran.Done()
				ran.Wait() // so that the next writes share a request as well
				next.Do(func() {
					siblings.left.Store(n)
					if write != "claim" {
						net.on(opBatch, fault)
					}
				})
				if write == "release" {
					return 0, errBusy
				}
				return i, nil
			})
			if write == "release" {
				check.Equal(t, err, errBusy, i)
				return
			}
			check.Equal(t, got, i)
			check.Nil(t, err)
		})
	}
	calls.Wait()
	net.on(opBatch, nil)
	sent = net.sent()
	want := int64(1)
	if write == "release" {
		want = 2
	}
	for i := range n {
		got, err := idempotent.Do(t.Context(), x, key(i), func(context.Context) (int, error) { runs[i].Add(1); return i, nil })
		check.Equal(t, got, i)
		check.Nil(t, err)
		check.Equal(t, runs[i].Load(), want)
		r := get(t, s, key(i).Record)
		check.Equal(t, r.Status, driver.Completed, i)
		check.Equal(t, r.Attempt, 1, i)
	}
	return sent
}
