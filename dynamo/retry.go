package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// shortestRequest is the time below which the SDK's next try would be cut off.
const shortestRequest = 50 * time.Millisecond

// inTime returns the options of a call about a record. The SDK does not wait for
// a try that ctx leaves no time for. The wait would end with ctx, and its error
// would hide the response of DynamoDB, such as throttling.
func inTime(ctx context.Context) func(*dynamodb.Options) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return quiet
	}
	return func(o *dynamodb.Options) {
		quiet(o)
		last := deadline.Add(-shortestRequest)
		switch r := o.Retryer.(type) {
		case nil:
		case aws.RetryerV2:
			o.Retryer = retryerInTime{r, last}
		default:
			o.Retryer = oldRetryerInTime{r, last}
		}
	}
}

// retryerInTime returns the error of a try in place of a delay that does not end
// before last.
type retryerInTime struct {
	aws.RetryerV2
	last time.Time
}

func (r retryerInTime) RetryDelay(attempt int, err error) (time.Duration, error) {
	return delayInTime(r.RetryerV2, r.last, attempt, err)
}

// oldRetryerInTime is for a Retryer that has no method GetAttemptToken.
type oldRetryerInTime struct {
	aws.Retryer
	last time.Time
}

func (r oldRetryerInTime) RetryDelay(attempt int, err error) (time.Duration, error) {
	return delayInTime(r.Retryer, r.last, attempt, err)
}

func delayInTime(r aws.Retryer, last time.Time, attempt int, answer error) (time.Duration, error) {
	delay, err := r.RetryDelay(attempt, answer)
	if err == nil && time.Until(last) < delay {
		return 0, answer
	}
	return delay, err
}
