package infra

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/lambda-once/once/infra/internal/check"
)

// A crash leaves a claim until the timeout of the function has passed.
func TestTaskRetriesForLongerThanAClaimOfACrash(t *testing.T) {
	for timeout, want := range map[time.Duration]float64{time.Second: 5, 95 * time.Second: 5, 96 * time.Second: 6, 15 * time.Minute: 8} {
		retry := newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.Timeout = timeout }).TaskRetry()
		check.Equal(t, *retry.MaxAttempts, want, timeout)
		var waits time.Duration
		for i := range int(*retry.MaxAttempts) {
			waits += time.Duration(*retry.Interval.ToSeconds(nil)) * time.Second << i
		}
		check.Equal(t, waits >= timeout+time.Minute, true, timeout)
		check.Equal(t, *retry.BackoffRate, 2.0)
		errors, err := json.Marshal(retry.Errors)
		check.Must(t, err)
		check.Equal(t, string(errors), `["InProgressError","LeaseLostError","StoreError","Lambda.Unknown","Runtime.ExitError","Sandbox.Timedout","States.Timeout",`+
			`"Lambda.AWSLambdaException","Lambda.ClientExecutionTimeoutException","Lambda.SdkClientException","Lambda.ServiceException","Lambda.TooManyRequestsException"]`)
	}
}
