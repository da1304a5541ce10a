package otel

import (
	"context"
	"fmt"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"

	"github.com/lambda-once/once/idempotent"
)

// Attributes outside the semantic conventions. Their values are few, because
// metrics also have them; a key or its hash would have too many.
const (
	operationKey  = attribute.Key("once.operation")
	outcomeKey    = attribute.Key("once.outcome")
	attemptKey    = attribute.Key("once.attempt")
	lapsedKey     = attribute.Key("once.lapsed")
	refusalKey    = attribute.Key("once.refusal")
	roundTripsKey = attribute.Key("once.round_trips")
	throttledKey  = attribute.Key("once.throttled")
)

// attributes returns the attributes of every span.
func (o Options) attributes() (fixed []attribute.KeyValue, err error) {
	switch o.Trigger {
	case "":
	case "datasource", "http", "pubsub", "timer", "other":
		fixed = append(fixed, semconv.FaaSTriggerKey.String(o.Trigger))
	default:
		err = fmt.Errorf("otel: Options.Trigger is %q, want datasource, http, pubsub, timer or other", o.Trigger)
	}
	if o.Table != "" {
		fixed = append(fixed, semconv.AWSDynamoDBTableNames(o.Table))
	}
	return fixed, err
}

// ofInvocation returns the attributes of the invocation: this span may be the
// function's only one. It leaves out whether the start was cold, because the
// first invocation need not make a call.
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
	if e.Lapsed {
		all = append(all, lapsedKey.Bool(true))
	}
	if refusal := e.Refusal(); refusal != "" {
		all = append(all, refusalKey.String(string(refusal)))
	}
	if e.Err != nil {
		all = append(all, semconv.ErrorTypeKey.String(e.ErrorType()))
	}
	return all
}

// failed reports whether the call failed. A conflict, a mismatch and a replay
// are results that a duplicate may expect.
func failed(e idempotent.Event) bool {
	switch e.Outcome {
	case idempotent.OutcomeConflict, idempotent.OutcomeMismatch:
		return false
	case idempotent.OutcomeReplayed, idempotent.OutcomeRepeated:
		return e.ErrorIs(idempotent.ErrResultUnavailable)
	}
	return e.Err != nil
}
