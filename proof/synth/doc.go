// Package synth tests that the app of the examples is synthesized alike on each version
// of Node that the CDK runs on.
package synth
