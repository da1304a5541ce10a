package template

import "slices"

const (
	mapping = "AWS::Lambda::EventSourceMapping"
	invoked = "AWS::Lambda::EventInvokeConfig" // the configuration of asynchronous invocations
	queue   = "AWS::SQS::Queue"
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
