// Package emf tells CloudWatch of every call, in its Embedded Metric Format:
// lines of JSON on standard output, which on Lambda become metrics on their
// way through CloudWatch Logs. It needs no agent, no permission and no
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
// All are in the namespace "Once", by operation, and Calls by operation and
// outcome too. So an operation has at most sixteen custom metrics, however many
// keys it has.
//
//	Calls           Count         1 for every call
//	StoreErrors     Count         1 for a call that the store failed, or whose time was up before its handler could run
//	StoreThrottles  Count         1 for those of them that the store throttled
//	Overhead        Milliseconds  of the call beyond its handler: the store, and waiting for a twin
//	RoundTrips      Count         calls to the store
//
// Each is written with every call, be it as 0, so that an average is a rate.
// The outcomes are those of [idempotent.Outcome]. Set an alarm on Calls with the
// outcome "timed out": each is a handler that was cut off, whose effect may have
// happened and is repeated by the retry. What a retry got over, within
// the call or within the store's client, is not an error here.
//
// Beside them, for Logs Insights, a line has key_hash, attempt, handler_ms and
// error, which is a type. It never has a key, a payload or an error's text.
//
// # What to know
//
// CloudWatch takes only ASCII for a dimension: give operations such names.
// Lambda drops lines without a level, as these are, if the function's
// application log level is above INFO. CloudWatch may count a line twice.
package emf
