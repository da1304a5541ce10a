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
		if o.Retryer != nil {
			o.Retryer = retryerInTime{o.Retryer, deadline.Add(-shortestRequest)}
		}
	}
}

// retryerInTime returns the error of a try in place of a delay that does not end
// before last.
type retryerInTime struct {
	aws.Retryer
	last time.Time
}

// GetAttemptToken implements aws.RetryerV2. A Retryer without it has the token that
// the SDK uses in its place.
func (r retryerInTime) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	if v2, ok := r.Retryer.(aws.RetryerV2); ok {
		return v2.GetAttemptToken(ctx)
	}
	return r.GetInitialToken(), nil
}

func (r retryerInTime) RetryDelay(attempt int, failed error) (time.Duration, error) {
	delay, err := r.Retryer.RetryDelay(attempt, failed)
	if err == nil && time.Until(r.last) < delay {
		return 0, failed
	}
	return delay, err
}
