// Package otel tells OpenTelemetry of every call: a span and three metrics. It
// is a module of its own, so that nobody else's build has OpenTelemetry in it,
// and it takes the API alone; which SDK and exporter there are is the
// program's business.
//
//	telemetry, err := otel.New(&otel.Options{Table: "idempotency", Trigger: "pubsub"})
//	…
//	x, err := idempotent.New("place-order", store, &idempotent.Config{Observer: telemetry})
//
// # The span
//
// Of each call, by the name "idempotent" and the operation, internal, under the
// span of the context that the call was made with. A batch has as many as it
// has messages, each with its own time, which events on the invocation's span
// could not show. An observer hears of a call when it has ended. So the spans
// that the handler makes stand beside this one, not under it, and a process that
// dies leaves none.
//
//	once.operation, once.outcome           as of [idempotent.Event]
//	once.attempt, once.round_trips         likewise
//	error.type                             the error's Go type; never its text
//	faas.invocation_id                     and aws.lambda.invoked_arn, on Lambda
//	faas.trigger                           Options.Trigger
//	aws.dynamodb.table_names               Options.Table
//
// Its status is Error, without a description, where a call failed: the handler,
// the store, or the outcome is not known. That a twin is running, that a key was
// used for another payload, and that a stored error was replayed are answers
// that a repetition is meant to get, and leave it unset.
//
// # The metrics
//
//	once.calls         {call}  by once.operation and once.outcome
//	once.overhead      s       histogram of the time beyond the handler, by the same
//	once.store.errors  {call}  by once.operation and once.throttled
//
// Set an alarm on once.calls with the outcome "timed out": each is a handler that
// was cut off, whose effect may have happened and is repeated by the retry.
//
// No attribute holds a key, its hash, or anything else of a request.
package otel
