// Package infra deploys functions that use Once with the AWS CDK: the table of
// the records, what a function may do with it, the function behind its event
// source, and what pages people at night.
//
//	table := infra.NewIdempotencyTable(stack, "Idempotency", nil)
//	orders := infra.NewIdempotentFunction(stack, "Orders", &infra.IdempotentFunctionProps{
//		Code:       "build/orders/bootstrap.zip",
//		Operations: []string{"place-order"},
//		Retention:  28 * 24 * time.Hour,
//		Table:      table,
//	})
//	orders.AddQueue("Queue", nil)
//	infra.NewAlarms(stack, "Alarms", &infra.AlarmsProps{
//		Functions: []*infra.IdempotentFunction{orders},
//	})
//
// Synthesizing an app needs Node 22 or later.
//
// [NewOutbox] and [NewRelay] are for messages that are committed in a
// transaction, and [GrantTransact] is for what else is.
//
// What is known to lose messages, or to run an effect twice, is refused while
// the app is synthesized, before anything is deployed: as is the custom of CDK
// in Go, where constructors return no error, by a panic. Its value is a
// [*PropsError] that names the construct and everything that is wrong with its
// props.
package infra
