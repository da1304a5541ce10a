package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsstepfunctions"
	"github.com/aws/jsii-runtime-go"
)

// TaskRetry returns the retries of a state that invokes the function, for handlers.Invoke:
// conflicts, crashes, and errors of the store and of Lambda, with backoff, for longer than a crash
// leaves a claim. They do not contain TimedOutError, after which the effect may have happened:
// retry or catch it in the state. Catch permanent errors as well.
func (f *IdempotentFunction) TaskRetry() *awsstepfunctions.RetryProps {
	n := 5 // after 5, 10, 20 … s
	for 5*time.Second<<n-5*time.Second < f.longest()+time.Minute {
		n++
	}
	return &awsstepfunctions.RetryProps{
		BackoffRate: jsii.Number(2),
		Errors: jsii.Strings("InProgressError", "LeaseLostError", "StoreError", "Lambda.Unknown", "Runtime.ExitError", "Sandbox.Timedout", "States.Timeout",
			"Lambda.AWSLambdaException", "Lambda.ClientExecutionTimeoutException", "Lambda.SdkClientException", "Lambda.ServiceException", "Lambda.TooManyRequestsException"),
		Interval:    seconds(5 * time.Second),
		MaxAttempts: jsii.Number(n),
	}
}
