// Package infra deploys functions that use Once with the AWS CDK. It creates the
// table of the records, the functions with their permissions and event sources,
// alarms and a dashboard.
//
//	table := infra.NewIdempotencyTable(stack, "Idempotency", nil)
//	orders := infra.NewIdempotentFunction(stack, "Orders", &infra.IdempotentFunctionProps{
//		Code:      "build/orders/bootstrap.zip",
//		Retention: 28 * 24 * time.Hour,
//		Table:     table,
//	})
//	orders.AddQueue("Queue", nil)
//	infra.NewAlarms(stack, "Alarms", &infra.AlarmsProps{Functions: []*infra.IdempotentFunction{orders}})
//
// Synthesizing an app needs Node 22 or later.
//
// [NewOutbox] and [NewRelay] deploy the outbox of messages that transactions
// commit. [GrantTransact] allows the other writes of transactions.
//
// Constructors refuse props that cannot work, before anything is deployed. As usual in CDK for
// Go, they panic. The value is a [*PropsError] that names the construct and everything that is
// wrong with its props. Synthesis examines the whole app for what can lose messages or run an
// effect twice, also in the sources that CDK's own constructs add: see [Check].
package infra
