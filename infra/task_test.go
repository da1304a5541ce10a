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
		retry := newFunction(t, newStack(), func(p *IdempotentFunctionProps) { longRecords(p); p.Timeout = timeout }).TaskRetry(time.Hour)
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

func TestTaskRetryRefuses(t *testing.T) {
	long := newFunction(t, newStack(), longRecords)
	long.TaskRetry(14 * day)
	wantRefusal(t, "execution: 0s is not up to 366 days", func() { long.TaskRetry(0) })
	wantRefusal(t, "shorter than the 672h0m1s for which an execution may be redriven", func() { long.TaskRetry(14*day + time.Second) })
	wantRefusal(t, "for which a state machine waits", func() { newFunction(t, newStack(), durable(16*time.Minute)).TaskRetry(time.Hour) })
}
