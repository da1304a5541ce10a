package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/lambda-once/once/cmd/once/internal/redrive"
)

func (d *Deployed) checkSources(ctx context.Context, found *Findings) {
	pages := lambda.NewListEventSourceMappingsPaginator(d.lambda, &lambda.ListEventSourceMappingsInput{FunctionName: &d.name})
	none := true
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			found.notKnown("Lambda", "sources", err)
			return
		}
		for _, m := range page.EventSourceMappings {
			none = false
			d.checkSource(ctx, m, found)
		}
	}
	if none {
		found.say("sources", Warning, "none that Lambda polls for "+d.name, "if they invoke an alias, give NAME:ALIAS; a function of an API, a topic or a rule has none")
	}
}

func (d *Deployed) checkSource(ctx context.Context, m types.EventSourceMappingConfiguration, found *Findings) {
	source, _ := arn.Parse(aws.ToString(m.EventSourceArn)) // a Kafka cluster of one's own has none
	_, name, _ := strings.Cut(source.Resource, "/")        // stream/NAME, or table/NAME/stream/TIME
	name, _, _ = strings.Cut(name, "/")
	reports := slices.Contains(m.FunctionResponseTypes, types.FunctionResponseTypeReportBatchItemFailures)
	switch {
	case source.Service == "sqs":
		checkReports(source.Resource, reports, found)
		d.checkQueue(ctx, source.Resource, source, m, found)
	case source.Service == "kinesis", source.Service == "dynamodb":
		checkReports(name, reports, found)
		checkStream(name, m, found)
	case len(m.Topics) > 0:
		name = strings.Join(m.Topics, ", ")
		checkReports(name, reports, found)
		found.first(name+": pollers", "provisioned",
			outcome{m.ProvisionedPollerConfig == nil, Wrong, "not provisioned: Lambda ignores the report, and takes records that failed for done", "set ProvisionedPollerConfig"})
	default:
		found.say(aws.ToString(m.EventSourceArn), Warning, "not examined: a source of this kind reports no single records", "see the page Events")
	}
}

func checkReports(name string, reports bool, found *Findings) {
	found.first(name+": reports", "by message",
		outcome{!reports, Wrong, "off: Lambda deletes the messages that failed", "set FunctionResponseTypes to ReportBatchItemFailures"})
}

func checkStream(name string, m types.EventSourceMappingConfiguration, found *Findings) {
	found.first(name+": bisect", "on",
		outcome{!aws.ToBool(m.BisectBatchOnFunctionError), Wrong, "off: one bad record takes the others of its batch along", "set BisectBatchOnFunctionError"})
	kept := m.DestinationConfig != nil && m.DestinationConfig.OnFailure != nil && m.DestinationConfig.OnFailure.Destination != nil
	found.first(name+": failures", "kept",
		outcome{!kept, Wrong, "a record that is given up is in no queue", "set DestinationConfig.OnFailure"})
	endless := func(limit *int32) bool { return limit == nil || *limit < 0 }
	found.first(name+": age", "limited",
		outcome{endless(m.MaximumRecordAgeInSeconds) && endless(m.MaximumRetryAttempts), Wrong,
			"a batch that fails is retried until the stream deletes it, and blocks its shard for as long", "set MaximumRecordAgeInSeconds and MaximumRetryAttempts"})
}

func (d *Deployed) checkQueue(ctx context.Context, name string, source arn.ARN, m types.EventSourceMappingConfiguration, found *Findings) {
	queue, err := d.queue(ctx, source.String())
	if err != nil {
		found.notKnown("SQS", name, err)
		return
	}
	window := time.Duration(aws.ToInt32(m.MaximumBatchingWindowInSeconds)) * time.Second
	least := 6*d.timeout + window
	found.first(name+": visibility", queue.Visibility.String(),
		outcome{queue.Visibility < least, Wrong,
			fmt.Sprintf("%s, less than %s, six timeouts of the function and the batching window", queue.Visibility, least), "raise VisibilityTimeout of the queue, or lower the timeout of the function"})
	found.first(name+": dead letters", fmt.Sprintf("after %d receives", queue.Receives),
		outcome{queue.DeadLetters == "", Wrong, "none: a message that always fails is dropped after " + queue.Retention.String(), "set RedrivePolicy of the queue"},
		outcome{queue.Receives < 2, Wrong, "after one receive, and a conflict with a running duplicate counts", "raise maxReceiveCount; AWS advises at least 5"})
	d.checkDeadLetters(ctx, name, queue, found)
	d.checkConsumers(ctx, name, source, m, found)
}

// checkDeadLetters finds a dead-letter queue that deletes a message as it arrives. A message of
// a standard queue keeps its age when it moves.
func (d *Deployed) checkDeadLetters(ctx context.Context, name string, queue redrive.Attributes, found *Findings) {
	source, err := arn.Parse(queue.DeadLetters)
	if err != nil || strings.HasSuffix(name, ".fifo") {
		return
	}
	dead, err := d.queue(ctx, queue.DeadLetters)
	if err != nil {
		found.notKnown("SQS", source.Resource, err)
		return
	}
	found.first(source.Resource+": retention", dead.Retention.String(),
		outcome{dead.Retention < queue.Retention, Wrong, fmt.Sprintf("%s, less than the %s of its queue: a message keeps its age when it moves", dead.Retention, queue.Retention), "raise MessageRetentionPeriod, to 14 days"})
}

// checkConsumers finds a queue that two functions share, each of which gets a part of the
// messages.
func (d *Deployed) checkConsumers(ctx context.Context, name string, source arn.ARN, m types.EventSourceMappingConfiguration, found *Findings) {
	pages := lambda.NewListEventSourceMappingsPaginator(d.lambda, &lambda.ListEventSourceMappingsInput{EventSourceArn: aws.String(source.String())})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			found.notKnown("Lambda", name+": consumers", err)
			return
		}
		for _, other := range page.EventSourceMappings {
			if aws.ToString(other.UUID) != aws.ToString(m.UUID) {
				found.say(name+": consumers", Wrong, "also "+aws.ToString(other.FunctionArn)+", which gets a part of the messages", "give each function a queue, for example of one topic")
			}
		}
	}
}

func (d *Deployed) queue(ctx context.Context, source string) (a redrive.Attributes, err error) {
	q, err := redrive.Open(ctx, d.sqs, source, 0)
	if err != nil {
		return a, err
	}
	return q.Attributes(ctx)
}
