// Package e2e tests the main guarantee from end to end. Messages go through a queue to
// a compiled function in several environments while processes are killed. No order is
// lost, and none is placed twice without a kill that explains it.
package e2e
