package infra

import (
	"cmp"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// DurableOptions configure the executions of a durable function.
// ExecutionTimeout is required.
type DurableOptions struct {
	// ExecutionTimeout is how long an execution may take, with its suspensions:
	// whole seconds, 1 s to 366 days. Pass the same one to durablefunc.Wrap. An
	// execution that is stopped holds its key for as long. Queues and streams wait
	// at most 15 min for it, and an HTTP API 30 s.
	ExecutionTimeout time.Duration

	// Retention is how long the history of an execution is kept after its end, and
	// with it the name that a dispatcher gave the execution: whole days, 1 to 90.
	// Default: 14 days.
	Retention time.Duration
}

// The following methods are also those of a function that is not durable, whose
// options are nil.

func (o *DurableOptions) timeout() time.Duration {
	return orZero(o).ExecutionTimeout
}

func (o *DurableOptions) history() time.Duration {
	return cmp.Or(orZero(o).Retention, 14*day)
}

// versions has old versions retained: suspended executions continue with the
// version that they began with, and CDK replaces the version when the code changes.
func (o *DurableOptions) versions(ephemeral bool) *awslambda.VersionOptions {
	if o == nil {
		return nil
	}
	return &awslambda.VersionOptions{RemovalPolicy: removalPolicy(ephemeral)}
}

func (o *DurableOptions) config() *awslambda.DurableConfig {
	if o == nil {
		return nil
	}
	config := &awslambda.DurableConfig{ExecutionTimeout: seconds(o.ExecutionTimeout)}
	if o.Retention > 0 {
		config.RetentionPeriod = awscdk.Duration_Days(jsii.Number(o.Retention / day))
	}
	return config
}

func (o *DurableOptions) refuse() (found problems) {
	if o == nil {
		return nil
	}
	found.when(!wholeSeconds(o.ExecutionTimeout, time.Second, 366*day), "Durable.ExecutionTimeout: %s is not whole seconds, 1 s to 366 days", o.ExecutionTimeout)
	found.when(o.Retention != 0 && (o.Retention < day || o.Retention > 90*day || o.Retention%day != 0), "Durable.Retention: %s is not whole days, 1 to 90", o.Retention)
	return found
}
