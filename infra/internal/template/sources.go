package template

import "slices"

// checkSources checks the event source mappings, and the configurations of
// asynchronous invocations.
func (t Template) checkSources(rule Rule, say func(string, ...any)) {
	functions := map[string]Function{}
	for _, f := range t.Functions() {
		functions[f.ID] = f
	}
	for id, mapping := range t.Resources("AWS::Lambda::EventSourceMapping") {
		p := mapping.Properties()
		source := target(p["EventSourceArn"])
		queue, isQueue := t.Resources("AWS::SQS::Queue")[source]
		switch {
		case rule == Report:
			if !slices.Contains(list(p["FunctionResponseTypes"]), any("ReportBatchItemFailures")) {
				say("%s takes a report of failures for success", id)
			}
		case rule == DLQ && isQueue:
			t.checkRedrive(source, queue, say)
		case rule == DLQ:
			t.checkStream(id, p, say)
		case rule == Visible && isQueue:
			f, known := functions[target(p["FunctionName"])]
			least := 6*number(f.Properties["Timeout"]) + number(p["MaximumBatchingWindowInSeconds"])
			if got := number(queue.Properties()["VisibilityTimeout"]); !known || least == 0 || got < least {
				say("%s: messages are invisible for %v s, which must be at least %v", source, got, least)
			}
		}
	}
	for id, config := range t.Resources("AWS::Lambda::EventInvokeConfig") {
		if p := config.Properties(); rule == DLQ && !t.sends(p["DestinationConfig"]) {
			say("%s has no OnFailure destination", id)
		}
	}
}

func (t Template) checkRedrive(id string, queue Resource, say func(string, ...any)) {
	policy, _ := queue.Properties()["RedrivePolicy"].(map[string]any)
	dead, ok := t.Resources("AWS::SQS::Queue")[target(policy["deadLetterTargetArn"])]
	switch {
	case !ok:
		say("%s has no dead-letter queue", id)
	case number(policy["maxReceiveCount"]) < 2:
		say("%s gives up on a message after one failure", id)
	case number(dead.Properties()["MessageRetentionPeriod"]) < number(queue.Properties()["MessageRetentionPeriod"]):
		say("%s: its dead-letter queue forgets a message sooner", id)
	}
}

func (t Template) checkStream(id string, p map[string]any, say func(string, ...any)) {
	if !t.sends(p["DestinationConfig"]) {
		say("%s has no OnFailure destination", id)
	}
	if number(p["MaximumRetryAttempts"]) < 1 || number(p["MaximumRecordAgeInSeconds"]) < 60 || p["BisectBatchOnFunctionError"] != true {
		say("%s lets a batch that fails block its shard: %v", id, p)
	}
}

// sends reports whether a failure goes to a queue of the template.
func (t Template) sends(destination any) bool {
	d, _ := destination.(map[string]any)
	onFailure, _ := d["OnFailure"].(map[string]any)
	_, ok := t.Resources("AWS::SQS::Queue")[target(onFailure["Destination"])]
	return ok
}
