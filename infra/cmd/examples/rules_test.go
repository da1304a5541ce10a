package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

const storeFolder = "../../../dynamo"

// storeActions are read from the code of the store: a call that is added to it
// without being granted fails here, as does a grant of what it does not call.
func storeActions(t *testing.T) template.Actions {
	t.Helper()
	actions, err := template.StoreActions(storeFolder, "Client", "GroupClient")
	check.Must(t, err)
	return actions
}

// The store calls DynamoDB through Client, and with group commit also through
// GroupClient. Tests and tools use TableClient, and publishers from a table of their
// own outbox.Client. A further interface needs a grant, or a reason to have none.
func TestStoreHasNoOtherClient(t *testing.T) {
	for folder, want := range map[string][]string{storeFolder: {"Client", "GroupClient", "TableClient"}, storeFolder + "/outbox": {"Client"}} {
		got, err := template.Interfaces(folder)
		check.Equal(t, err, nil)
		check.Equal(t, got, want, folder)
	}
}

func TestDeployment(t *testing.T) {
	actions := storeActions(t)
	for name, deployed := range deployments(t) {
		for _, rule := range template.Rules() {
			t.Run(name+"/"+rule.Text, func(t *testing.T) {
				for _, problem := range deployed.Problems(rule, actions) {
					t.Error(problem)
				}
			})
		}
	}
}

// Each rule is broken in every template by removing its subject, so that
// TestDeployment cannot pass for lack of one.
func TestDeploymentBreaks(t *testing.T) {
	actions := storeActions(t)
	for name, deployed := range deployments(t) {
		for _, m := range mutations(actions) {
			absent := []string{template.AlarmRule.Text, template.Emitted.Text, template.Relayed.Text, template.Logged.Text}
			if name == "page" && (slices.Contains(absent, m.rule.Text) || m.name == deaf || m.name == open) {
				continue // it shows neither alarms nor an outbox nor an API
			}
			if name == "Terraform" && m.rule.Text == template.Relayed.Text {
				continue // it has no outbox
			}
			t.Run(name+"/"+m.name, func(t *testing.T) {
				broken := deployed.Clone()
				check.Equal(t, m.apply(broken) > 0, true, "something is removed")
				check.Equal(t, len(broken.Problems(m.rule, actions)) > 0, true, m.rule, "notices it")
			})
		}
	}
}

type mutation struct {
	name  string
	rule  template.Rule
	apply func(template.Template) int // how many places it changed
}

func mutations(actions template.Actions) []mutation {
	drop := func(property string, types ...string) func(template.Template) int {
		return func(t template.Template) (n int) {
			for _, r := range t.Resources(types...) {
				if _, there := r.Properties()[property]; there {
					delete(r.Properties(), property)
					n++
				}
			}
			return n
		}
	}
	set := func(property string, value any, types ...string) func(template.Template) int {
		return func(t template.Template) (n int) {
			for _, r := range t.Resources(types...) {
				r.Properties()[property] = value
				n++
			}
			return n
		}
	}
	all := []mutation{
		{"without time to live", template.TTL, drop("TimeToLiveSpecification", "AWS::DynamoDB::GlobalTable")},
		{"without backups", template.TTL, set("Replicas", []any{}, "AWS::DynamoDB::GlobalTable")},
		{"without ReportBatchItemFailures", template.Report, drop("FunctionResponseTypes", "AWS::Lambda::EventSourceMapping")},
		{"without a dead-letter queue", template.DLQ, drop("RedrivePolicy", "AWS::SQS::Queue")},
		{"without a visibility timeout", template.Visible, drop("VisibilityTimeout", "AWS::SQS::Queue")},
		{"with a longer window", template.Visible, set("MaximumBatchingWindowInSeconds", 1.0, "AWS::Lambda::EventSourceMapping")},
		{"a dead-letter queue that goes", template.Kept, fate("AWS::SQS::Queue")},
		{"a policy that goes", template.Kept, fate("AWS::SQS::QueuePolicy")},
		{"queues without TLS", template.TLS, drop("PolicyDocument", "AWS::SQS::QueuePolicy")},
		{open, template.TLS, drop("PolicyDocument", "AWS::SNS::TopicPolicy")},
		{deaf, template.TLS, fromCloudWatch},
		{"without an access log", template.Logged, drop("AccessLogSettings", "AWS::ApiGatewayV2::Stage", "AWS::Serverless::HttpApi")},
		{"without throttling", template.Logged, drop("DefaultRouteSettings", "AWS::ApiGatewayV2::Stage", "AWS::Serverless::HttpApi")},
		{"without a filter", template.Relayed, drop("FilterCriteria", "AWS::Lambda::EventSourceMapping")},
		{"two batches of a shard at once", template.Relayed, set("ParallelizationFactor", 2.0, "AWS::Lambda::EventSourceMapping")},
		{"without a stream", template.Relayed, drop("StreamSpecification", "AWS::DynamoDB::GlobalTable")},
		{"without a relay", template.Relayed, unrelayed},
		{"a metric that nobody writes", template.Emitted, set("MetricName", "Once", "AWS::CloudWatch::Alarm")},
		{"a statistic of one second", template.Emitted, set("Statistic", "Minimum", "AWS::CloudWatch::Alarm")},
		{"a dimension of nobody", template.Emitted, set("Dimensions", []any{map[string]any{"Name": "operation", "Value": "x"}, map[string]any{"Name": "Stage", "Value": "y"}}, "AWS::CloudWatch::Alarm")},
		{"the metrics of an alias", template.Emitted, set("Dimensions", []any{map[string]any{"Name": "FunctionName", "Value": "orders:live"}}, "AWS::CloudWatch::Alarm")},
		{"alarm at missing data", template.AlarmRule, drop("TreatMissingData", "AWS::CloudWatch::Alarm")},
		{"on every table", template.Wildcard, inStatements(func(s map[string]any) { s["Resource"] = "*" })},
		{"every action", template.Wildcard, inStatements(func(s map[string]any) { s["Action"] = "dynamodb:*" })},
		{"with a part of group commit", template.Grant, inStatements(func(s map[string]any) {
			s["Action"] = append(slices.DeleteFunc(slices.Clone(asList(s["Action"])), grouped), "dynamodb:PartiQLInsert")
		})},
		{"with one action more", template.Grant, inStatements(func(s map[string]any) { s["Action"] = append(slices.Clone(asList(s["Action"])), "dynamodb:Scan") })},
	}
	for _, action := range actions.All() {
		all = append(all, mutation{"without " + action, template.Grant, inStatements(func(s map[string]any) {
			s["Action"] = slices.DeleteFunc(slices.Clone(asList(s["Action"])), func(a any) bool { return a == action })
		})})
	}
	return all
}

const (
	deaf = "a topic that no alarm reaches"
	open = "topics without TLS"
)

// fromCloudWatch takes the statement away by which alarms reach their topics.
func fromCloudWatch(t template.Template) (n int) {
	for _, policy := range t.Resources("AWS::SNS::TopicPolicy") {
		document := policy.Properties()["PolicyDocument"].(map[string]any)
		document["Statement"] = slices.DeleteFunc(asList(document["Statement"]), func(s any) bool {
			n++
			return s.(map[string]any)["Effect"] == "Allow"
		})
	}
	return n
}

// fate has resources deleted as CloudFormation does where nothing is stated.
func fate(kind string) func(template.Template) int {
	return func(t template.Template) (n int) {
		for _, r := range t.Resources(kind) {
			if _, stated := r["UpdateReplacePolicy"]; stated {
				delete(r, "UpdateReplacePolicy")
				n++
			}
		}
		return n
	}
}

// unrelayed leaves outboxes to those that write to them.
func unrelayed(t template.Template) (n int) {
	for _, f := range t.Functions() {
		if f.Outbox() != "" && f.Table() == "" {
			delete(t["Resources"].(map[string]any), f.ID)
			n++
		}
	}
	return n
}

// inStatements changes every statement about the records.
func inStatements(change func(map[string]any)) func(template.Template) int {
	return func(t template.Template) (n int) {
		for _, v := range template.Values(t["Resources"]) {
			if s, ok := v.(map[string]any); ok && slices.Contains(asList(s["Action"]), any("dynamodb:GetItem")) {
				change(s)
				n++
			}
		}
		return n
	}
}

func grouped(action any) bool {
	return action == "dynamodb:BatchGetItem" || strings.HasPrefix(fmt.Sprint(action), "dynamodb:PartiQL")
}

func asList(v any) []any {
	if s, ok := v.([]any); ok {
		return s
	}
	return []any{v}
}

// The tables of the sample outlive its stack, those with business data included.
func TestPageRetainsEveryTable(t *testing.T) {
	for id, resource := range page(t).Resources("AWS::DynamoDB::GlobalTable") {
		for _, policy := range []string{"DeletionPolicy", "UpdateReplacePolicy"} {
			check.Equal(t, resource[policy], "Retain", id, policy)
		}
	}
}
