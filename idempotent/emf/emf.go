// Package emf writes the metrics of every call in CloudWatch's Embedded Metric
// Format: lines of JSON on standard output. On Lambda, CloudWatch Logs turns
// them into metrics. The package needs no agent, no permission and no
// dependency.
//
//	metrics, err := emf.New(nil)
//	…
//	x, err := idempotent.New("create-payment", store, &idempotent.Config{
//		Observer: idempotent.Observers{idempotent.LogObserver{}, metrics},
//	})
//
// # The metrics
//
// All metrics are in the namespace "Once" and have the dimension operation.
// Calls is also written with the dimensions operation and outcome, and Refused with
// operation and reason. An operation has at most 30 custom metrics, however many
// keys it has.
//
//	Calls           Count         1 for every call
//	LapsedLeases    Count         1 if the call took over a lease that had lapsed
//	Refused         Count         1 if the call was refused because of its request
//	StoreErrors     Count         1 if the store failed, or if no time was left to run the handler
//	StoreThrottles  Count         1 if a store error was throttling
//	Overhead        Milliseconds  time outside the handler: the store, and waiting for a duplicate
//	RoundTrips      Count         calls to the store
//	OldestAbandoned Seconds       how long ago the oldest work was left behind that is not resumed
//
// Every call writes each metric, also if it is 0, so that an average is a rate.
// OldestAbandoned is written by each round of handlers.Resume instead, also if it is 0.
// The outcomes are those of [idempotent.Outcome], and the reasons those of
// [idempotent.Refusal]; only a refused call has one. An error that a retry overcame,
// within the call or within the store's client, is not counted.
//
// Set an alarm on Calls with the outcome "timed out". Each one is a handler that
// was cut off: its effect may have happened, and the retry repeats it. Set one on
// LapsedLeases as well: an attempt crashed or was frozen, with the same
// consequence.
//
// For Logs Insights, a line also contains key_hash, attempt, handler_ms and
// error, which is a type. It never contains a key, a payload or the text of an
// error.
//
// # Limits
//
// CloudWatch accepts only ASCII in dimensions, so use ASCII names for
// operations. The lines have no log level: Lambda drops them if the function's
// application log level is above INFO. CloudWatch may count a line twice.
package emf
