// Package faults tests the whole: a function that Once protects, compiled and
// run as on Lambda, against the real DynamoDB Local, while its process is
// killed or frozen and its connections are cut.
//
// The tests of idempotent and dynamo take the protocol apart step by step.
// These ask only what a caller asks: how often did the effect happen, and what
// was I told.
package faults
