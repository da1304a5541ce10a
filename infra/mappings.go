package infra

import (
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
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

// An outlet receives the asynchronous events that a function gives up.
type outlet struct {
	at    constructs.IConstruct
	age   time.Duration // of an event, at most
	queue *queueOf      // nil if an import hides it
}

// outlets returns those of a function: of the configurations of its asynchronous invocations, and
// its dead-letter queue.
func (a *app) outlets(f *IdempotentFunction) (all []outlet) {
	for _, c := range every[awslambda.CfnEventInvokeConfig](a) {
		if a.invokes(f, c, c.FunctionName()) && in(c, c.DestinationConfig(), "onFailure") != nil {
			all = append(all, outlet{c, declared(c.MaximumEventAgeInSeconds(), time.Second, maxEventAge), a.failures(c, c.DestinationConfig())})
		}
	}
	if made, is := unqualified(f.Function).Node().DefaultChild().(awslambda.CfnFunction); is && made.DeadLetterConfig() != nil {
		all = append(all, outlet{made, maxEventAge, a.queue(made, in(made, made.DeadLetterConfig(), "targetArn"))})
	}
	return all
}

// An inlet is an API of API Gateway that waits for a function, with the metric of its errors.
type inlet struct {
	at                constructs.IConstruct
	waits             time.Duration // 0 for a token
	name              string
	metric, dimension string
	value             *string // of the dimension, or nil for an import that hides it
}

func (a *app) inlets(f *IdempotentFunction) (all []inlet) {
	for _, i := range every[awsapigatewayv2.CfnIntegration](a) {
		if i.IntegrationUri() != nil && a.invokes(f, i, i.IntegrationUri()) {
			waits := declared(i.TimeoutInMillis(), time.Millisecond, maxHTTPTime)
			all = append(all, inlet{i, waits, "the API " + asJSON(plain(i, i.ApiId())), "5xx", "ApiId", i.ApiId()})
		}
	}
	for _, m := range every[awsapigateway.CfnMethod](a) {
		if m.Integration() == nil || !a.invokes(f, m, m.Integration()) {
			continue
		}
		found := inlet{at: m, waits: maxRESTTime, metric: "5XXError", dimension: "ApiName"}
		if own, set := in(m, m.Integration(), "timeoutInMillis").(float64); set {
			found.waits = time.Duration(own) * time.Millisecond
		}
		if api, made := referred(m.RestApiId()).(awsapigateway.CfnRestApi); made {
			found.name, found.value = *api.Node().Path(), api.Name()
		}
		all = append(all, found)
	}
	return all
}
