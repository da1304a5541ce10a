// Package e2e tests the main promise from end to end: messages go through a
// real queue to a compiled function in several environments, processes are
// killed all the time, and no order is lost or placed twice without a kill that
// explains it.
package e2e
