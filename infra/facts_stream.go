package infra

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/constructs-go/constructs/v10"
)

// bisect finds a stream whose whole batch is given up for one bad record.
func (x *examined) bisect() {
	for _, m := range x.of(ofStream) {
		x.when(plain(m.at, m.at.BisectBatchOnFunctionError()) != true, m.at, "set BisectBatchOnError of its event source",
			"a batch is not split when it fails, so that one bad record takes the others along")
	}
}

// streamFailures finds a stream whose records disappear when they are given up.
func (x *examined) streamFailures() {
	for _, m := range x.of(ofStream) {
		x.when(in(m.at, m.at.DestinationConfig(), "onFailure") == nil, m.at, "set OnFailure of its event source",
			"a record that is given up is in no queue")
	}
}

// streamAge finds a stream that deletes a record before it is given up: it would reach no queue,
// and those behind it in the shard neither.
func (x *examined) streamAge() {
	for _, m := range x.of(ofStream) {
		age, retries := declared(m.at.MaximumRecordAgeInSeconds(), time.Second, -1), m.at.MaximumRetryAttempts()
		endless := age < 0 && (retries == nil || !unresolved(*retries) && *retries < 0)
		x.when(endless, m.at, "set RetryAttempts and MaxRecordAge of its event source",
			"a batch that fails is retried until the stream deletes it, and blocks its shard for as long")
		x.when(m.keeps > 0 && age >= m.keeps, m.at, "set MaxRecordAge to less than the retention of the stream",
			"a record is given up at %s, and the stream keeps it for %s", age, m.keeps)
	}
}

// streamRetention finds a stream, or a topic of Kafka, whose failures outlive the records.
func (x *examined) streamRetention() {
	for _, m := range x.mappings {
		if sink := x.failures(m.at, m.at.DestinationConfig()); sink != nil && sink.made != nil {
			x.expires(m.givesUp()+sink.retention(), m.at, "a record")
		}
	}
}

// asyncRetention finds asynchronous events whose failures outlive the records. Those of a rule
// wait in EventBridge first. Those of a durable function enter its dead-letter queue after the
// execution.
func (x *examined) asyncRetention() {
	waits := time.Duration(0)
	for _, r := range every[awsevents.CfnRule](x.app) {
		if x.invokes(x.f, r, r.Targets()) {
			waits = max(waits, ruleAge(r))
		}
	}
	for _, o := range x.outlets(x.f) {
		if o.queue != nil && o.queue.made != nil {
			x.expires(waits+o.age+x.f.props.Durable.timeout()+o.queue.retention(), o.at, "an event")
		}
	}
}

// ruleAge returns for how long EventBridge tries to deliver an event to the targets of a rule.
func ruleAge(r awsevents.CfnRule) (age time.Duration) {
	targets, _ := plain(r, r.Targets()).([]any)
	for _, target := range targets {
		own := day // the default of EventBridge
		if stated, set := in(r, target, "retryPolicy", "maximumEventAgeInSeconds").(float64); set {
			own = time.Duration(stated) * time.Second
		}
		age = max(age, own)
	}
	return age
}

// asyncFailures finds a topic, a rule, a bucket or a schedule whose events Lambda drops after two
// retries.
func (x *examined) asyncFailures() {
	kept := len(x.outlets(x.f)) > 0
	const fix = "configure OnFailure of the function, with ConfigureAsyncInvoke"
	drops := func(at constructs.IConstruct) {
		x.when(!kept, at, fix, "its events invoke %s, which has no OnFailure: Lambda would drop an event that fails three times", *x.f.scope.Node().Path())
	}
	for _, p := range every[awslambda.CfnPermission](x.app) {
		service, _, _ := strings.Cut(*p.Principal(), ".") // a principal without a dot is an account
		if slices.Contains([]string{"sns", "events", "s3"}, service) && x.invokes(x.f, p, p.FunctionName()) {
			drops(p)
		}
	}
	for _, s := range every[awsscheduler.CfnSchedule](x.app) {
		if x.invokes(x.f, s, in(s, s.Target(), "arn")) {
			drops(s)
		}
	}
}
