// Package durablefunc protects Lambda durable functions:
//
//	lambda.Start(durablefunc.Wrap(x, 24*time.Hour, orderID, durable.Wrap(pay), nil))
//
// Here durable is the AWS SDK for durable executions, which this package does not
// import.
//
// [Wrap] protects a durable function at the wire, so that each key has one
// execution, through all of its suspensions. [InStep] names the step in which a
// call within is made.
//
// [Dispatch] returns the handler of an ordinary function that starts the
// executions, for work that takes longer than its source waits. [StartExecution]
// starts each under a name that is derived from its key, so that the service
// recognizes duplicates. [StartWorkflow] does the same for Standard workflows of
// AWS Step Functions.
package durablefunc
