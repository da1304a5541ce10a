package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// RelayProps are the props of [NewRelay]. Code and Outbox are required; the
// zero value of every other field is its default.
type RelayProps struct {
	// BatchSize is the maximum number of items of an invocation: 1 to 1,000.
	// Default: 100.
	BatchSize int

	// BatchingWindow is the time for which Lambda gathers a batch: whole seconds,
	// at most 5 min. Default: 0.
	BatchingWindow time.Duration

	// Code is the path of a zip or a folder with an executable "bootstrap" for
	// arm64.
	Code string

	// Environment adds variables to OUTBOX_TABLE and AWS_LAMBDA_LOG_LEVEL. Default:
	// none.
	Environment map[string]string

	// FailureRetention is the retention of the failure queue: whole seconds, 1 min
	// to 14 days. Default: 14 days.
	FailureRetention time.Duration

	// LogLevel is the value of AWS_LAMBDA_LOG_LEVEL: DEBUG, INFO, WARN or ERROR.
	// Once does not read it: the function's main sets the level of its logger.
	// Default: "INFO".
	LogLevel string

	// LogRetention is the retention of the logs. Default: one month.
	LogRetention awslogs.RetentionDays

	// MaxAge is the age at which an item is given up: whole seconds, 1 min to 24 h.
	// Until then it blocks its shard, because later items must not overtake it.
	// Default: 12 h, half of the stream's retention. With 24 h, the item could
	// disappear before Lambda gives it up, and would never reach Failures.
	MaxAge time.Duration

	// MemorySize is the memory in MiB, 128 to 10,240. Default: 256.
	MemorySize int

	// Outbox is the outbox that the function publishes.
	Outbox *Outbox

	// Retries is the number of retries before a batch is given up: 1 to 10,000.
	// Default: 10,000, because an outage of the destination outlasts ten retries.
	Retries int

	// Timeout is the timeout of an invocation: whole seconds, 1 s to 15 min.
	// Default: 30 s.
	Timeout time.Duration
}

// A Relay is a function that publishes the messages of an outbox. Create one with
// [NewRelay].
type Relay struct {
	Function awslambda.Function

	// Failures receives the stream positions of the messages that Lambda has
	// given up. The messages stay in the outbox, unmarked. Publishing them by
	// hand needs [Outbox.GrantOperate]. The queue is retained when its stack is
	// deleted, unless the outbox is Ephemeral.
	Failures awssqs.Queue

	scope constructs.Construct
}

// NewRelay creates the function of relay.Outbox. It feeds the function with
// the unpublished items of the outbox's stream, allows it to mark items, and sets
// OUTBOX_TABLE to the table's name. The function has no access to records, and you
// must grant it the permission to publish.
//
// One batch of a shard runs at a time. With more, Lambda keeps only the order of
// the writes to one item, and an aggregate has many items.
//
// NewRelay panics with a [*PropsError] for props that cannot work.
func NewRelay(scope constructs.Construct, id string, props *RelayProps) *Relay {
	p := filled(props, RelayProps{
		BatchSize: 100, FailureRetention: maxKept, LogLevel: "INFO", LogRetention: awslogs.RetentionDays_ONE_MONTH, MaxAge: day / 2,
		MemorySize: 256, Retries: 10000, Timeout: 30 * time.Second,
	})
	append(p.refuse(), refuseID(scope, id, "")...).panic(scope, id)
	own := constructs.NewConstruct(scope, &id)
	function := p.program().deploy(own, p.Outbox.props.Ephemeral, "OUTBOX_TABLE", p.Outbox.Table.TableName())
	p.Outbox.GrantMark(function)
	failures := newLastQueue(own, failuresID, p.Outbox.props.Ephemeral, &awssqs.QueueProps{RetentionPeriod: seconds(p.FailureRetention)})
	source := p.stream().ofTable(failures)
	// A repeated call overwrites its item, which is published again. Marks
	// and expiry are writes too, but are not published.
	source.Filters = &[]*map[string]any{awslambda.FilterCriteria_Filter(&map[string]any{
		"eventName": awslambda.FilterRule_Or(jsii.String("INSERT"), jsii.String("MODIFY")),
		"dynamodb": map[string]any{"NewImage": map[string]any{
			"published": map[string]any{"N": awslambda.FilterRule_NotExists()}, // "exists" applies only to a leaf
		}},
	})}
	function.AddEventSource(awslambdaeventsources.NewDynamoEventSource(p.Outbox.Table, source))
	return &Relay{Function: function, Failures: failures, scope: own}
}

func (p *RelayProps) program() *IdempotentFunctionProps {
	return &IdempotentFunctionProps{
		Code: p.Code, Environment: p.Environment, FailureRetention: p.FailureRetention,
		LogLevel: p.LogLevel, LogRetention: p.LogRetention, MemorySize: p.MemorySize, Timeout: p.Timeout,
	}
}

func (p *RelayProps) stream() *StreamProps {
	return &StreamProps{BatchSize: p.BatchSize, BatchingWindow: p.BatchingWindow, MaxAge: p.MaxAge, Parallelization: 1, Retries: p.Retries}
}

func (p *RelayProps) refuse() problems {
	found := p.program().refuseProgram("OUTBOX_TABLE")
	found.when(p.Outbox == nil, "Outbox: it is required")
	found.when(!wholeSeconds(p.MaxAge, time.Minute, day), "MaxAge: %s is not whole seconds, 1 min to 24 h", p.MaxAge)
	return append(found, p.stream().refuse(1000)...)
}
