package appcheck

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

// A Mapping is an event source mapping of the app that invokes a function.
type Mapping struct {
	At    awslambda.CfnEventSourceMapping
	Kind  Kind
	Queue *Queue // of SQS, or nil
	keeps time.Duration
}

// A Kind of event source mappings.
type Kind int

const (
	unknown Kind = iota // a token, behind which may be a queue or a stream
	OfQueue
	OfStream // of Kinesis or DynamoDB
	OfTopic  // of Kafka
	ofBroker // of Amazon MQ or DocumentDB, which have no reports
)

// Mappings returns the event source mappings of a function.
func (a *App) Mappings(f *Function) (found []*Mapping) {
	for _, m := range Every[awslambda.CfnEventSourceMapping](a) {
		if a.Invokes(f, m, m.FunctionName()) {
			found = append(found, a.mapping(m))
		}
	}
	return found
}

// mapping reads the source of a mapping: its kind, and how long it keeps a record, or 0 if that
// is unknown.
func (a *App) mapping(m awslambda.CfnEventSourceMapping) *Mapping {
	if a.read[m] != nil {
		return a.read[m]
	}
	found := &Mapping{At: m}
	a.read[m] = found
	switch {
	case m.Topics() != nil:
		found.Kind = OfTopic
		return found
	case m.Queues() != nil || m.DocumentDbEventSourceConfig() != nil:
		found.Kind = ofBroker
		return found
	}
	if found.Queue = a.queue(m, m.EventSourceArn()); found.Queue != nil {
		found.Kind = OfQueue
		return found
	}
	text, _ := plain(m, m.EventSourceArn()).(string) // of any other value, ""
	switch source := referred(m.EventSourceArn()).(type) {
	case awskinesis.CfnStream:
		found.Kind, found.keeps = OfStream, Declared(source.RetentionPeriodHours(), time.Hour, day)
	case awsdynamodb.CfnGlobalTable, awsdynamodb.CfnTable:
		found.Kind, found.keeps = OfStream, day
	default:
		if strings.Contains(text, ":kinesis:") || strings.Contains(text, ":dynamodb:") {
			found.Kind = OfStream
		}
	}
	return found
}

// Declared returns a time of a resource, the default of AWS if it has none, and 0 for a token.
func Declared(value *float64, unit, byDefault time.Duration) time.Duration {
	switch {
	case value == nil:
		return byDefault
	case unresolved(*value):
		return 0
	}
	return time.Duration(*value) * unit
}

// GivesUp returns the age at which a record of a stream is given up or disappears, or 0.
func (m *Mapping) GivesUp() time.Duration {
	age := Declared(m.At.MaximumRecordAgeInSeconds(), time.Second, 0)
	if age <= 0 || m.keeps > 0 && m.keeps < age { // -1 is no limit
		return m.keeps
	}
	return age
}

// Failures returns the queue of the events that a mapping, or a configuration of asynchronous
// invocations, gives up.
func (a *App) Failures(of constructs.IConstruct, destinations any) *Queue {
	return a.queue(of, In(of, destinations, "onFailure", "destination"))
}

// An Outlet receives the asynchronous events that a function gives up.
type Outlet struct {
	at    constructs.IConstruct
	age   time.Duration // of an event, at most
	Queue *Queue        // nil if an import hides it
}

// Outlets returns those of a function: of the configurations of its asynchronous invocations, and
// its dead-letter queue.
func (a *App) Outlets(f *Function) (all []Outlet) {
	for _, c := range Every[awslambda.CfnEventInvokeConfig](a) {
		if a.Invokes(f, c, c.FunctionName()) && In(c, c.DestinationConfig(), "onFailure") != nil {
			all = append(all, Outlet{c, Declared(c.MaximumEventAgeInSeconds(), time.Second, MaxEventAge), a.Failures(c, c.DestinationConfig())})
		}
	}
	if made, is := f.made(); is && made.DeadLetterConfig() != nil {
		all = append(all, Outlet{made, MaxEventAge, a.queue(made, In(made, made.DeadLetterConfig(), "targetArn"))})
	}
	return all
}

// An Inlet is an API of API Gateway that waits for a function, with the metric of its errors.
type Inlet struct {
	at                constructs.IConstruct
	waits             time.Duration // 0 for a token
	Name              string
	Metric, Dimension string
	Value             *string // of the dimension, or nil for an import that hides it
}

// Inlets returns the APIs of a function.
func (a *App) Inlets(f *Function) (all []Inlet) {
	for _, i := range Every[awsapigatewayv2.CfnIntegration](a) {
		if i.IntegrationUri() != nil && a.Invokes(f, i, i.IntegrationUri()) {
			waits := Declared(i.TimeoutInMillis(), time.Millisecond, maxHTTPTime)
			all = append(all, Inlet{i, waits, "the API " + asJSON(plain(i, i.ApiId())), "5xx", "ApiId", i.ApiId()})
		}
	}
	for _, m := range Every[awsapigateway.CfnMethod](a) {
		if m.Integration() == nil || !a.Invokes(f, m, m.Integration()) {
			continue
		}
		found := Inlet{at: m, waits: maxRESTTime, Metric: "5XXError", Dimension: "ApiName"}
		if own, set := In(m, m.Integration(), "timeoutInMillis").(float64); set {
			found.waits = time.Duration(own) * time.Millisecond
		}
		if api, made := referred(m.RestApiId()).(awsapigateway.CfnRestApi); made {
			found.Name, found.Value = *api.Node().Path(), api.Name()
		}
		all = append(all, found)
	}
	return all
}
