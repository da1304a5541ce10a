package otel

import (
	"context"
	"fmt"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"

	"github.com/lambda-once/once/idempotent"
)

// The attributes that no convention has. Their values are few: those of the
// metrics are in all of them, so a key, or its hash, is not among them.
const (
	operationKey  = attribute.Key("once.operation")
	outcomeKey    = attribute.Key("once.outcome")
	attemptKey    = attribute.Key("once.attempt")
	roundTripsKey = attribute.Key("once.round_trips")
	throttledKey  = attribute.Key("once.throttled")
)

// attributes are those of every span.
func (o Options) attributes() (fixed []attribute.KeyValue, err error) {
	switch o.Trigger {
	case "":
	case "datasource", "http", "pubsub", "timer", "other":
		fixed = append(fixed, semconv.FaaSTriggerKey.String(o.Trigger))
	default:
		err = fmt.Errorf("otel: Options.Trigger is %q, not datasource, http, pubsub, timer or other", o.Trigger)
	}
	if o.Table != "" {
		fixed = append(fixed, semconv.AWSDynamoDBTableNames(o.Table))
	}
	return fixed, err
}

// ofInvocation says which invocation a call was of: the span may be the only
// one that the function makes. Whether that was a cold start only the
// invocation's own span can know, as not every invocation makes a call.
func ofInvocation(ctx context.Context) []attribute.KeyValue {
	invocation, ok := lambdacontext.FromContext(ctx)
	if !ok {
		return nil
	}
	return []attribute.KeyValue{
		semconv.FaaSInvocationID(invocation.AwsRequestID),
		semconv.AWSLambdaInvokedARN(invocation.InvokedFunctionArn),
	}
}

func ofCall(e idempotent.Event) []attribute.KeyValue {
	all := []attribute.KeyValue{
		operationKey.String(e.Operation),
		outcomeKey.String(string(e.Outcome)),
		attemptKey.Int64(e.Attempt),
		roundTripsKey.Int(e.RoundTrips),
	}
	if e.Err != nil {
		all = append(all, semconv.ErrorTypeKey.String(e.ErrorType()))
	}
	return all
}

// failed tells what went wrong from the answers that a repetition is meant to
// get.
func failed(e idempotent.Event) bool {
	switch e.Outcome {
	case idempotent.OutcomeConflict, idempotent.OutcomeMismatch:
		return false
	case idempotent.OutcomeReplayed:
		return e.ErrorIs(idempotent.ErrResultUnavailable)
	}
	return e.Err != nil
}
