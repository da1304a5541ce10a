// Package otel records a span and metrics of every call in OpenTelemetry.
// It uses the API alone; the program chooses the SDK and the exporter.
//
//	telemetry, err := otel.New(&otel.Options{Table: "idempotency", Trigger: "pubsub"})
//	…
//	x, err := idempotent.New("place-order", store, &idempotent.Config{Observer: telemetry})
//
// # The span
//
// Each call has one internal span, named "idempotent" and the operation. Its
// parent is the span of the context of the call. A batch has one span for each
// message, each with its own time.
//
// The span is created when the call has returned. The spans of the handler are
// therefore its siblings, and a process that dies leaves no span.
//
//	once.operation, once.outcome           from [idempotent.Event]
//	once.attempt, once.round_trips         from [idempotent.Event]
//	once.lapsed                            true after the lapsed lease of an attempt
//	once.refusal                           why the request was refused, if it was
//	error.type                             the error's Go type; never its text
//	faas.invocation_id                     on Lambda
//	aws.lambda.invoked_arn                 on Lambda
//	faas.trigger                           Options.Trigger
//	aws.dynamodb.table_names               Options.Table
//
// The status is Error, without a description, if the handler or the store failed
// or the outcome is unknown, and for an expired key. It is unset for results that a duplicate may expect:
// a conflict, a mismatch, and the replay of a stored error.
//
// # The metrics
//
//	once.calls          {call}  by once.operation and once.outcome
//	once.overhead       s       histogram of the time outside the handler, by the same attributes
//	once.leases.lapsed  {call}  takeovers of lapsed leases, by once.operation
//	once.refusals       {call}  calls refused because of their request, by once.operation and once.refusal
//	once.store.errors   {call}  by once.operation and once.throttled
//
// Set an alarm on once.calls with the outcome "timed out". Each one is a handler
// that was cut off: its effect may have happened, and the retry repeats it. Set
// one on once.leases.lapsed as well: an attempt crashed or was frozen, with the
// same consequence.
//
// No attribute contains a key, its hash, or any other part of a request.
package otel
