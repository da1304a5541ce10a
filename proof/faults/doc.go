// Package faults tests the whole: a compiled function that Once protects, run as on
// Lambda against DynamoDB Local, while its process exits or is frozen, or is cut off
// from the server. Package crashmatrix kills processes.
//
// The tests of idempotent and dynamo check the protocol step by step. These check
// only the facts that a caller observes: the number of effects, and the response.
package faults
