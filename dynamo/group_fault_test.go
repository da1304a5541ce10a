package dynamo

import (
	"context"
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
)

// groupFaults are what can happen to a shared request.
var groupFaults = map[string]mischief{
	"not sent":    func([]byte, func([]byte) []byte) ([]byte, error) { return nil, errCut },
	"answer lost": func(body []byte, pass func([]byte) []byte) ([]byte, error) { pass(body); return nil, errCut },
	"half executed, answer lost": func(body []byte, pass func([]byte) []byte) ([]byte, error) {
		if _, err := some("", odd)(body, pass); err != nil {
			return nil, err
		}
		return nil, errCut
	},
	"half throttled":                  some("ThrottlingError", odd),
	"half of it too fast":             some("ProvisionedThroughputExceeded", odd),
	"half in conflict":                some("TransactionConflict", odd),
	"half failed":                     some("InternalServerError", odd),
	"half failed and executed":        executed("InternalServerError", odd),
	"half refused although executed":  executed("ConditionalCheckFailed", odd),
	"all duplicates of themselves":    executed("DuplicateItem", func(int) bool { return true }),
	"half not valid":                  some("ValidationError", odd),
	"half without a code":             some("", odd),
	"half with a code of another day": some("Novelty", odd),
	"executed, and an answer is missing": func(body []byte, pass func([]byte) []byte) ([]byte, error) {
		pass(body)
		return encode(responsesBody{}), nil
	},
	"executed, and no answers": func(body []byte, pass func([]byte) []byte) ([]byte, error) { pass(body); return []byte("{}"), nil },
	"executed, and an answer that is no JSON": func(body []byte, pass func([]byte) []byte) ([]byte, error) {
		pass(body)
		return []byte("<html>"), nil
	},
	"throttled": func([]byte, func([]byte) []byte) ([]byte, error) {
		return []byte(`{"__type":"ThrottlingException","message":"slow"}`), nil
	},
}

func odd(i int) bool { return i%2 == 1 }

// Whatever happens to a shared request: every call runs once and returns its own
// result, and so do its repetitions.
func TestFaultsOfASharedRequestChangeNoResult(t *testing.T) {
	retries := map[string]func(*dynamodb.Options){
		"alone again": func(*dynamodb.Options) {},
		"sent again by the SDK": func(o *dynamodb.Options) {
			o.Retryer = atOnce()
		},
	}
	for again, option := range retries {
		t.Run(again, func(t *testing.T) {
			s, wire := intercepted(t, option)
			x, err := idempotent.New("op", s, nil)
			check.Must(t, err)
			for name, f := range groupFaults {
				for _, write := range []string{"claim", "completion", "release"} {
					t.Run(name+"/"+write, func(t *testing.T) { runsOnce(t, s, x, wire, firstTime(f), write) })
				}
			}
		})
	}
}

// Its call has failed, and has perhaps been taken back.
func TestWriteOfACallerThatLeftIsNotSentAgain(t *testing.T) {
	s, wire := intercepted(t, func(o *dynamodb.Options) { o.Retryer = atOnce() })
	leave, left := make(chan context.CancelFunc, 1), make(chan struct{})
	wire.on(opBatch, firstTime(func([]byte, func([]byte) []byte) ([]byte, error) {
		(<-leave)()
		<-left
		return nil, errCut
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
// their writes.
func runsOnce(t *testing.T, s *Store, x *idempotent.Executor, wire *interceptor, f mischief, write string) {
	const n = 6
	var runs [n]atomic.Int64
	var ran sync.WaitGroup
	ran.Add(n)
	var next sync.Once
	key := func(i int) idempotent.Key { return idempotent.Key{Record: fmt.Sprintf("%s/%d", t.Name(), i)} }
	if write == "claim" {
		wire.on(opBatch, f)
	}
	var shared countdown
	shared.left.Store(n)
	errBusy := fmt.Errorf("busy")
	ctx := adapter.With(t.Context(), adapter.Sibling(shared.Arrive))
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			got, err := idempotent.Do(ctx, x, key(i), func(context.Context) (int, error) {
				runs[i].Add(1)
				ran.Done()
				ran.Wait() // so that the next writes share a request, too
				next.Do(func() {
					shared.left.Store(n)
					if write != "claim" {
						wire.on(opBatch, f)
					}
				})
				if write == "release" {
					return 0, errBusy
				}
				return i, nil
			})
			if write == "release" {
				check.Failed(t, err, i)
				return
			}
			check.Equal(t, got, i)
			check.Nil(t, err)
		})
	}
	wg.Wait()
	wire.on(opBatch, nil)
	sent := wire.sent()
	check.True(t, strings.Count(sent, opBatch) >= 2, strings.Count(sent, opBatch), "the writes did not share requests")
	for i := range n {
		got, err := idempotent.Do(t.Context(), x, key(i), func(context.Context) (int, error) { runs[i].Add(1); return i, nil })
		want := int64(1)
		if write == "release" {
			want = 2
		}
		check.Equal(t, got, i)
		check.Nil(t, err)
		check.Equal(t, runs[i].Load(), want)
		check.Equal(t, get(t, s, key(i).Record).Status, driver.Completed, i)
	}
}
