package template

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// checkRetained checks the queues for messages that failed permanently, and the
// policies that protect these queues.
func (t Template) checkRetained(say func(string, ...any)) {
	last := map[string]bool{}
	for _, queue := range t.Resources("AWS::SQS::Queue") {
		policy, _ := queue.Properties()["RedrivePolicy"].(map[string]any)
		last[target(policy["deadLetterTargetArn"])] = true
	}
	for _, r := range t.Resources("AWS::Lambda::EventSourceMapping", "AWS::Lambda::EventInvokeConfig") {
		destination, _ := r.Properties()["DestinationConfig"].(map[string]any)
		onFailure, _ := destination["OnFailure"].(map[string]any)
		last[target(onFailure["Destination"])] = true
	}
	delete(last, "")
	for _, id := range slices.Sorted(maps.Keys(last)) {
		t.checkRetention(id, say)
		for _, policy := range t.policiesOf(id) {
			t.checkRetention(policy, say)
		}
	}
}

func (t Template) checkRetention(id string, say func(string, ...any)) {
	if r := t.Resources()[id]; r["DeletionPolicy"] != "Retain" || r["UpdateReplacePolicy"] != "Retain" {
		say("%s goes with its stack, or with its name", id)
	}
}

// checkTLS checks the policies of queues and topics. A topic with a policy accepts
// notifications of CloudWatch only if the policy allows them.
func (t Template) checkTLS(say func(string, ...any)) {
	for _, id := range t.IDs("AWS::SQS::Queue", "AWS::SNS::Topic") {
		if !slices.ContainsFunc(t.statementsOf(id), func(s map[string]any) bool {
			return s["Effect"] == "Deny" && everybody(s["Principal"]) && t.coversAll(id, s["Action"]) &&
				reflect.DeepEqual(s["Condition"], map[string]any{"Bool": map[string]any{"aws:SecureTransport": "false"}})
		}) {
			say("%s takes requests without TLS", id)
		}
	}
	for _, alarm := range t.IDs("AWS::CloudWatch::Alarm") {
		p := t.Resources()[alarm].Properties()
		for _, action := range slices.Concat(list(p["AlarmActions"]), list(p["OKActions"])) {
			topic := target(action)
			if len(t.policiesOf(topic)) > 0 && !slices.ContainsFunc(t.statementsOf(topic), fromAlarms) {
				say("%s: the policy of %s lets no alarm publish", alarm, topic)
			}
		}
	}
}

func fromAlarms(s map[string]any) bool {
	principal, _ := s["Principal"].(map[string]any)
	return s["Effect"] == "Allow" && slices.Contains(list(principal["Service"]), any("cloudwatch.amazonaws.com")) &&
		slices.Contains(list(s["Action"]), any("sns:Publish"))
}

func everybody(principal any) bool {
	m, _ := principal.(map[string]any)
	return principal == "*" || m["AWS"] == "*"
}

func (t Template) coversAll(id string, actions any) bool {
	if t.Resources()[id]["Type"] == "AWS::SNS::Topic" {
		return slices.Contains(list(actions), any("sns:Publish"))
	}
	return slices.Contains(list(actions), any("sqs:*"))
}

// policiesOf returns the resources that set the policy of a queue or a topic.
func (t Template) policiesOf(id string) []string {
	var policies []string
	for _, policy := range t.IDs("AWS::SQS::QueuePolicy", "AWS::SNS::TopicPolicy") {
		p := t.Resources()[policy].Properties()
		if slices.ContainsFunc(slices.Concat(list(p["Queues"]), list(p["Topics"])), func(of any) bool { return target(of) == id }) {
			policies = append(policies, policy)
		}
	}
	return policies
}

// statementsOf returns the statements about a queue or a topic in its policies.
func (t Template) statementsOf(id string) []map[string]any {
	var statements []map[string]any
	for _, policy := range t.policiesOf(id) {
		document, _ := t.Resources()[policy].Properties()["PolicyDocument"].(map[string]any)
		for _, s := range list(document["Statement"]) {
			if s, ok := s.(map[string]any); ok && target(s["Resource"]) == id {
				statements = append(statements, s)
			}
		}
	}
	return statements
}

func (t Template) checkAPIs(say func(string, ...any)) {
	kinds := []string{"AWS::ApiGatewayV2::Stage", "AWS::Serverless::HttpApi"}
	for id, r := range t.Resources(kinds...) {
		p := r.Properties()
		logs, _ := p["AccessLogSettings"].(map[string]any)
		if _, ok := t.Resources("AWS::Logs::LogGroup")[target(logs["DestinationArn"])]; !ok {
			say("%s has no access log", id)
		}
		if format := fmt.Sprint(logs["Format"]); !strings.Contains(format, "$context.requestId") || strings.Contains(format, "$context.path") {
			say("%s logs %s", id, format)
		}
		limits, _ := p["DefaultRouteSettings"].(map[string]any)
		if number(limits["ThrottlingBurstLimit"]) <= 0 || number(limits["ThrottlingRateLimit"]) <= 0 {
			say("%s is not throttled: %v", id, limits)
		}
	}
	for id := range t.Resources("AWS::ApiGatewayV2::Api") {
		if len(t.Resources(kinds...)) == 0 {
			say("%s has no stage", id)
		}
	}
}
