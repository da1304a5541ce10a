package dynamo

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// oldRetryer hides the methods that a Retryer need not have.
type oldRetryer struct{ aws.Retryer }

// slow returns a client whose retries wait for so long.
func slow(answer wire.Carry, delay time.Duration, old bool) *dynamodb.Client {
	return wireClient(answer, func(o *dynamodb.Options) {
		r := aws.Retryer(retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return delay, nil })
		}))
		if old {
			r = oldRetryer{r}
		}
		o.Retryer = r
	})
}

// The error is DynamoDB's, and not that of a wait for another try.
func TestThrottledCallWithoutTimeForAnotherTryIsThrottled(t *testing.T) {
	for _, c := range []struct {
		name       string
		time, wait time.Duration
		old        bool
		tries      int
	}{
		{"no time for the wait", time.Second, 2 * time.Second, false, 1},
		{"no time behind the wait", time.Second, 990 * time.Millisecond, false, 1},
		{"time for another", time.Second, 600 * time.Millisecond, false, 2},
		{"time for all", 10 * time.Second, 600 * time.Millisecond, false, 3},
		{"another kind of Retryer", time.Second, 2 * time.Second, true, 1},
		{"another kind of Retryer, time for all", 10 * time.Second, 600 * time.Millisecond, true, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			for op, call := range operations {
				synctest.Test(t, func(t *testing.T) {
					tries := 0
					s := newStore(t, slow(func(r *wire.Request) (*wire.Response, error) {
						tries++
						return refusing(400, "ThrottlingException", "slow")(r)
					}, c.wait, c.old), "records", nil)
					ctx, cancel := context.WithTimeout(t.Context(), c.time)
					defer cancel()
					_, err := call(ctx, s)
					check.Is(t, err, driver.ErrThrottled, op)
					check.Says(t, err, "throttled", op)
					check.Lacks(t, err.Error(), "no answer", op)
					check.Equal(t, tries, c.tries, op)
				})
			}
		})
	}
}

// A completion has less time for each try, and the SDK's pauses soon exceed it.
func TestThrottledCompletionIsThrottled(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slow(func(r *wire.Request) (*wire.Response, error) {
			if r.Operation == "PutItem" {
				return answering(200, "{}")(r)
			}
			return refusing(400, "ThrottlingException", "slow")(r)
		}, time.Second, false), "records", nil)
		events := make(chan idempotent.Event, 1)
		x := executor(t, s, &idempotent.Config{Observer: observe(events)})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := idempotent.Do(ctx, x, idempotent.Key{ID: "k"}, func(ctx context.Context) (string, error) {
			time.Sleep(2400 * time.Millisecond)
			return "", nil
		})
		e := <-events
		check.Equal(t, e.Outcome, idempotent.OutcomeUnknown)
		check.True(t, e.ErrorIs(idempotent.ErrStore))
		check.True(t, e.ErrorIs(driver.ErrThrottled))
		check.Lacks(t, err.Error(), "no answer")
		check.Says(t, err, "raise the table's capacity")
	})
}

type observe chan idempotent.Event

func (o observe) Observe(_ context.Context, e idempotent.Event) { o <- e }
