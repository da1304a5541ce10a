package infra

import (
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
)

// A mapping is an event source mapping of the app that invokes a function.
type mapping struct {
	at    awslambda.CfnEventSourceMapping
	kind  kind
	queue *queueOf // of SQS, or nil
	keeps time.Duration
}

// A kind of event source mappings.
type kind int

const (
	unknown kind = iota // a token, behind which may be a queue or a stream
	ofQueue
	ofStream // of Kinesis or DynamoDB
	ofTopic  // of Kafka
	ofBroker // of Amazon MQ or DocumentDB, which have no reports
)

// mappings returns the event source mappings of a function.
func (a *app) mappings(f *IdempotentFunction) (found []*mapping) {
	for _, m := range every[awslambda.CfnEventSourceMapping](a) {
		if a.invokes(f, m, m.FunctionName()) {
			found = append(found, a.mapping(m))
		}
	}
	return found
}

// mapping reads the source of a mapping: its kind, and how long it keeps a record, or 0 if that
// is unknown.
func (a *app) mapping(m awslambda.CfnEventSourceMapping) *mapping {
	if a.read[m] != nil {
		return a.read[m]
	}
	found := &mapping{at: m}
	a.read[m] = found
	switch {
	case m.Topics() != nil:
		found.kind = ofTopic
		return found
	case m.Queues() != nil || m.DocumentDbEventSourceConfig() != nil:
		found.kind = ofBroker
		return found
	}
	if found.queue = a.queue(m, m.EventSourceArn()); found.queue != nil {
		found.kind = ofQueue
		return found
	}
	text, _ := plain(m, m.EventSourceArn()).(string) // of any other value, ""
	switch source := referred(m.EventSourceArn()).(type) {
	case awskinesis.CfnStream:
		found.kind, found.keeps = ofStream, declared(source.RetentionPeriodHours(), time.Hour, day)
	case awsdynamodb.CfnGlobalTable, awsdynamodb.CfnTable:
		found.kind, found.keeps = ofStream, day
	default:
		if strings.Contains(text, ":kinesis:") || strings.Contains(text, ":dynamodb:") {
			found.kind = ofStream
		}
	}
	return found
}

// declared returns a time of a resource, the default of AWS if it has none, and 0 for a token.
func declared(value *float64, unit, byDefault time.Duration) time.Duration {
	switch {
	case value == nil:
		return byDefault
	case unresolved(*value):
		return 0
	}
	return time.Duration(*value) * unit
}

// givesUp returns the age at which a record of a stream is given up or disappears, or 0.
func (m *mapping) givesUp() time.Duration {
	age := declared(m.at.MaximumRecordAgeInSeconds(), time.Second, 0)
	if age <= 0 || m.keeps > 0 && m.keeps < age { // -1 is no limit
		return m.keeps
	}
	return age
}

// failures returns the queue of the events that a mapping, or a configuration of asynchronous
// invocations, gives up.
func (a *app) failures(of constructs.IConstruct, destinations any) *queueOf {
	return a.queue(of, in(of, destinations, "onFailure", "destination"))
}
