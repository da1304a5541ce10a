package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/fake"
	"github.com/lambda-once/once/infra/internal/template"
)

// template.yaml deploys what the CDK app deploys: every resource of these types
// is in both, with the same properties and the same fate when its stack goes.
// Named resources have the same id but for CDK's hash; alarms and mappings, which CDK
// names, are distinguished by their contents.
func TestSAMHasTheResourcesOfCDK(t *testing.T) {
	named := func(id string, _ template.Resource) string { return id }
	for kind, name := range map[string]func(string, template.Resource) string{
		"AWS::CloudWatch::Alarm":     func(_ string, r template.Resource) string { return fmt.Sprint(r.Properties()["AlarmDescription"]) },
		"AWS::DynamoDB::GlobalTable": named,
		"AWS::Lambda::EventSourceMapping": func(_ string, r template.Resource) string {
			return fmt.Sprint(r.Properties()["FunctionName"], r.Properties()["EventSourceArn"])
		},
		"AWS::Lambda::Url":      func(string, template.Resource) string { return "the only one" },
		"AWS::Logs::LogGroup":   named,
		"AWS::SNS::Topic":       named,
		"AWS::SNS::TopicPolicy": named,
		"AWS::SQS::Queue":       named,
		"AWS::SQS::QueuePolicy": named,
	} {
		t.Run(kind, func(t *testing.T) {
			want, got := byName(cdk(t), kind, name), byName(sam(t), kind, name)
			if len(want) == 0 {
				t.Fatal("the app has none")
			}
			for name := range union(want, got) {
				same(t, got[name], want[name], name)
			}
		})
	}
}

func TestSAMHasTheFunctionsOfCDK(t *testing.T) {
	want, got := functions(cdk(t)), functions(sam(t))
	for id := range union(want, got) {
		properties := func(f template.Function) map[string]any {
			p := maps.Clone(f.Properties)
			// The code comes to Lambda in different ways. Policies and roles,
			// and routes, are compared below.
			for _, name := range []string{"Code", "CodeUri", "Events", "Policies", "Role"} {
				delete(p, name)
			}
			return p
		}
		same(t, properties(got[id]), properties(want[id]), id)
		same(t, allowed(got[id]), allowed(want[id]), id)
	}
}

func TestSAMHasTheRoutesAndOutputsOfCDK(t *testing.T) {
	want, got := []string{}, []string{}
	for _, route := range cdk(t).Resources("AWS::ApiGatewayV2::Route") {
		want = append(want, fmt.Sprint(route.Properties()["RouteKey"]))
	}
	for _, integration := range cdk(t).Resources("AWS::ApiGatewayV2::Integration") {
		want = append(want, fmt.Sprint("payload ", integration.Properties()["PayloadFormatVersion"]))
	}
	for _, f := range sam(t).Functions() {
		events, _ := f.Properties["Events"].(map[string]any)
		for _, event := range events {
			p := event.(map[string]any)["Properties"].(map[string]any)
			got = append(got, fmt.Sprint(p["Method"], " ", p["Path"]), fmt.Sprint("payload ", p["PayloadFormatVersion"]))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	check.Equal(t, len(want), 2)
	check.Equal(t, got, want)
	outputs := func(t template.Template) []string { return slices.Sorted(maps.Keys(t["Outputs"].(map[string]any))) }
	check.Equal(t, outputs(sam(t)), outputs(cdk(t)))
}

// SAM writes the settings of the stage into the API.
func TestSAMHasTheStageOfCDK(t *testing.T) {
	settings := func(from template.Template, kind string) map[string]any {
		found := map[string]any{}
		for _, r := range from.Resources(kind) {
			for _, name := range []string{"AccessLogSettings", "DefaultRouteSettings"} {
				found[name] = r.Properties()[name]
			}
		}
		return found
	}
	want, got := settings(cdk(t), "AWS::ApiGatewayV2::Stage"), settings(sam(t), "AWS::Serverless::HttpApi")
	for _, name := range []string{"AccessLogSettings", "DefaultRouteSettings"} {
		check.Equal(t, want[name] == nil, false, name)
		same(t, got[name], want[name], name)
	}
}

// The part of template.yaml that is commented out deploys what the construct does.
func TestSAMOfAResumerIsTheConstruct(t *testing.T) {
	text := read(t, "../../../template.yaml")
	check.Equal(t, strings.Count(text, "# resume: ") > 30, true)
	got := included(t, strings.ReplaceAll(text, "# resume: ", ""))

	code := filepath.Join(t.TempDir(), "bootstrap.zip")
	check.Must(t, fake.WriteFunction(code))
	stack := awscdk.NewStack(newApp(), jsii.String("S"), nil)
	infra.NewResume(stack, "Resume", &infra.ResumeProps{
		Code: code, Execute: &infra.ExecuteOptions{Operations: []string{"checkout"}}, Operations: []string{"checkout"},
		Table: infra.NewIdempotencyTable(stack, "Idempotency", &infra.IdempotencyTableProps{Resume: true}),
	})
	want, err := readable(stack)
	check.Must(t, err)

	same(t, got.Resources()["Idempotency"].Properties(), want.Resources()["Idempotency"].Properties(), "the table")
	same(t, got.Resources()["ResumeLogs"], want.Resources()["ResumeLogs"], "the log")
	mine, construct := functions(got)["ResumeFunction"], functions(want)["ResumeFunction"]
	permissions := func(f template.Function) string {
		join := `map[Fn::Join:[ [map[Fn::GetAtt:[Idempotency Arn]] /index/lapsed]]]` // as !Sub is written
		return strings.ReplaceAll(strings.Join(allowed(f), "\n"), join, "map[Fn::Sub:${Idempotency.Arn}/index/lapsed]")
	}
	check.Equal(t, permissions(mine), permissions(construct))
	for _, name := range []string{"Environment", "ReservedConcurrentExecutions", "Timeout"} {
		same(t, mine.Properties[name], construct.Properties[name], name)
	}
	invoked := mine.Properties["EventInvokeConfig"].(map[string]any)
	for _, r := range want.Resources("AWS::Lambda::EventInvokeConfig") {
		for _, name := range []string{"MaximumEventAgeInSeconds", "MaximumRetryAttempts"} {
			same(t, invoked[name], r.Properties()[name], name)
		}
	}
	for _, r := range want.Resources("AWS::Events::Rule") {
		check.Contains(t, mine.Properties["Events"], fmt.Sprint(r.Properties()["ScheduleExpression"]))
	}
}

// same compares a part of the template of SAM with that of CDK.
func same(t *testing.T, sam, cdk any, about string) {
	t.Helper()
	if !reflect.DeepEqual(sam, cdk) {
		t.Errorf("%s: SAM has\n%s, CDK\n%s", about, indented(t, sam), indented(t, cdk))
	}
}

func byName(from template.Template, kind string, name func(string, template.Resource) string) map[string]any {
	found := map[string]any{}
	for id, r := range from.Resources(kind) {
		fates := map[string]any{"DeletionPolicy": "Delete", "UpdateReplacePolicy": "Delete"} // the defaults of CloudFormation
		for policy := range fates {
			if r[policy] != nil {
				fates[policy] = r[policy]
			}
		}
		found[name(id, r)] = []any{r.Properties(), fates}
	}
	return found
}

func functions(from template.Template) map[string]template.Function {
	found := map[string]template.Function{}
	for _, f := range from.Functions() {
		found[f.ID] = f
	}
	return found
}

// allowed returns a line for each action on each resource.
func allowed(f template.Function) []string {
	var lines []string
	for _, s := range f.Statements {
		for _, action := range s.Actions {
			for _, resource := range s.Resources {
				lines = append(lines, fmt.Sprint(s.Effect, " ", action, " on ", resource, " if ", s.Condition))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func union[V any](a, b map[string]V) map[string]bool {
	names := map[string]bool{}
	for _, name := range slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b)) {
		names[name] = true
	}
	return names
}
