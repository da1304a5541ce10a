package template

import (
	"reflect"
	"slices"
)

const (
	mapping = "AWS::Lambda::EventSourceMapping"
	invoked = "AWS::Lambda::EventInvokeConfig" // the configuration of asynchronous invocations
	queue   = "AWS::SQS::Queue"
	topic   = "AWS::SNS::Topic"
)

func (c *checker) reports() {
	for id, r := range c.Resources(mapping) {
		if !slices.Contains(list(r.at("FunctionResponseTypes")), any("ReportBatchItemFailures")) {
			c.say("%s takes a report of failures for success", id)
		}
	}
}

func (c *checker) failures() {
	queues := c.Resources(queue)
	for id, r := range c.Resources(mapping, invoked) {
		source := target(r.at("EventSourceArn"))
		if from, ok := queues[source]; ok {
			c.redrive(source, from)
			continue
		}
		if queues[failuresOf(r)] == nil {
			c.say("%s has no OnFailure destination", id)
		}
		blocks := number(r.at("MaximumRetryAttempts")) < 1 || number(r.at("MaximumRecordAgeInSeconds")) < 60 || r.at("BisectBatchOnFunctionError") != true
		if r["Type"] == mapping && blocks {
			c.say("%s lets a batch that fails block its shard: %v", id, r.Properties())
		}
	}
}

func failuresOf(source Resource) string {
	return target(source.at("DestinationConfig", "OnFailure", "Destination"))
}

func deadLettersOf(queue Resource) string {
	return target(queue.at("RedrivePolicy", "deadLetterTargetArn"))
}

func (c *checker) redrive(id string, from Resource) {
	dead, ok := c.Resources(queue)[deadLettersOf(from)]
	switch {
	case !ok:
		c.say("%s has no dead-letter queue", id)
	case number(from.at("RedrivePolicy", "maxReceiveCount")) < 2:
		c.say("%s gives up on a message after one failure", id)
	case number(dead.at("MessageRetentionPeriod")) < number(from.at("MessageRetentionPeriod")):
		c.say("%s: its dead-letter queue forgets a message sooner", id)
	}
}

func (c *checker) visibility() {
	timeouts := map[string]float64{}
	for _, f := range c.Functions() {
		timeouts[f.ID] = number(f.Properties["Timeout"])
	}
	for _, r := range c.Resources(mapping) {
		source, timeout := target(r.at("EventSourceArn")), timeouts[target(r.at("FunctionName"))]
		from, isQueue := c.Resources(queue)[source]
		least := 6*timeout + number(r.at("MaximumBatchingWindowInSeconds"))
		if got := number(from.at("VisibilityTimeout")); isQueue && (timeout == 0 || got < least) {
			c.say("%s: messages are invisible for %v s, which must be at least %v", source, got, least)
		}
	}
}

// lastCopies checks the queues for messages that failed permanently, and the
// policies that protect these queues.
func (c *checker) lastCopies() {
	last := map[string]bool{}
	for _, r := range c.Resources(queue, mapping, invoked) {
		last[deadLettersOf(r)], last[failuresOf(r)] = true, true
	}
	delete(last, "")
	for id := range last {
		for _, kept := range append(c.policiesOf(id), id) {
			if !c.Resources()[kept].isRetained() {
				c.say("%s goes with its stack, or with its name", kept)
			}
		}
	}
}

// policies checks the policies of queues and topics. A topic with a policy accepts
// notifications of CloudWatch only if the policy allows them.
func (c *checker) policies() {
	for kind, action := range map[string]string{queue: "sqs:*", topic: "sns:Publish"} {
		for _, id := range c.IDs(kind) {
			if !slices.ContainsFunc(c.statementsOn(id), func(s Statement) bool {
				return s.Effect == "Deny" && (s.principal == "*" || at(s.principal, "AWS") == "*") && slices.Contains(s.Actions, action) &&
					reflect.DeepEqual(s.Condition, map[string]any{"Bool": map[string]any{"aws:SecureTransport": "false"}})
			}) {
				c.say("%s takes requests without TLS", id)
			}
		}
	}
	for alarm, r := range c.Resources("AWS::CloudWatch::Alarm") {
		for _, action := range slices.Concat(list(r.at("AlarmActions")), list(r.at("OKActions"))) {
			to := target(action)
			if len(c.policiesOf(to)) > 0 && !slices.ContainsFunc(c.statementsOn(to), fromAlarms) {
				c.say("%s: the policy of %s lets no alarm publish", alarm, to)
			}
		}
	}
}

func fromAlarms(s Statement) bool {
	return s.Effect == "Allow" && slices.Contains(list(at(s.principal, "Service")), any("cloudwatch.amazonaws.com")) &&
		slices.Contains(s.Actions, "sns:Publish")
}

// policiesOf returns the resources that set the policy of a queue or a topic.
func (c *checker) policiesOf(id string) []string {
	var policies []string
	for policy, r := range c.Resources("AWS::SQS::QueuePolicy", "AWS::SNS::TopicPolicy") {
		if refers(r.at("Queues"), id) || refers(r.at("Topics"), id) {
			policies = append(policies, policy)
		}
	}
	return policies
}

// statementsOn returns the statements about a queue or a topic in its policies.
func (c *checker) statementsOn(id string) []Statement {
	var all []Statement
	for _, policy := range c.policiesOf(id) {
		all = append(all, statements(c.Resources()[policy].at("PolicyDocument"))...)
	}
	return slices.DeleteFunc(all, func(s Statement) bool { return !refers(s.Resources, id) })
}
