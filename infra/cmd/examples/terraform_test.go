package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

const terraformFolder = "../../terraform"

// evaluated returns the configurations in folders as templates. A command of the proof
// evaluates them, so that users of this module do not download a parser of Terraform.
func evaluated(t *testing.T, folders ...string) (all []template.Template) {
	t.Helper()
	for i, folder := range folders {
		absolute, err := filepath.Abs(filepath.Join(folder, "examples"))
		check.Must(t, err)
		folders[i] = absolute
	}
	command := exec.CommandContext(t.Context(), "go", append([]string{"-C", "../../../proof", "run", "./cmd/terraform"}, folders...)...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var one template.Template
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all
		}
		check.Must(t, err)
		all = append(all, inNamesOfCDK(t, one))
	}
}

func terraform(t *testing.T) template.Template {
	t.Helper()
	return evaluated(t, terraformFolder)[0]
}

// addresses are the logical ids in CDK of resources with an address in Terraform.
var addresses = map[string]string{
	"aws_apigatewayv2_api.payments":                                 "PaymentsAPI",
	"aws_apigatewayv2_integration.payments":                         "PaymentsAPIPOSTpaymentsIntegration",
	"aws_apigatewayv2_route.payments":                               "PaymentsAPIPOSTpayments",
	"aws_apigatewayv2_stage.payments":                               "PaymentsAPIDefaultStage",
	"aws_cloudwatch_log_group.access":                               "PaymentsAPIAccessLogs",
	`aws_dynamodb_table.business["charges"]`:                        "Charges",
	`aws_dynamodb_table.business["orders"]`:                         "PlacedOrders",
	"aws_sns_topic.on_call":                                         "OnCall",
	"aws_sns_topic_policy.on_call":                                  "OnCallPolicy",
	"module.alarms.aws_cloudwatch_dashboard.this[0]":                "Dashboard",
	"module.idempotency.aws_dynamodb_table.this":                    "Idempotency",
	"module.orders.aws_cloudwatch_log_group.this":                   "OrdersLogs",
	"module.orders.aws_lambda_function.this":                        "OrdersFunction",
	"module.orders_queue.aws_sqs_queue.dead_letters[0]":             "OrdersQueueDeadLetters",
	"module.orders_queue.aws_sqs_queue.this[0]":                     "OrdersQueue",
	`module.orders_queue.aws_sqs_queue_policy.this["dead_letters"]`: "OrdersQueueDeadLettersPolicy",
	`module.orders_queue.aws_sqs_queue_policy.this["queue"]`:        "OrdersQueuePolicy",
	"module.payments.aws_cloudwatch_log_group.this":                 "PaymentsLogs",
	"module.payments.aws_lambda_function.this":                      "PaymentsFunction",
	"module.orders_queue.aws_lambda_event_source_mapping.this":      "OrdersFunctionSqsEventSourceOnceExamplesOrdersQueue35B6A45B",
}

var punctuation = regexp.MustCompile(`[^A-Za-z0-9]`)

// inNamesOfCDK renames resources. The name of an alarm becomes its id, as CDK makes one of it.
func inNamesOfCDK(t *testing.T, from template.Template) template.Template {
	t.Helper()
	ids := map[string]string{}
	for address, r := range from.Resources() {
		ids[address] = addresses[address]
		if name, ok := r.Properties()["AlarmName"].(string); ok {
			ids[address] = "Alarms" + punctuation.ReplaceAllString(strings.TrimPrefix(name, "once-examples-"), "")
			delete(r.Properties(), "AlarmName")
		}
	}
	text := indented(t, from)
	for address, id := range ids {
		if id != "" {
			text = strings.ReplaceAll(text, quoted(t, address), quoted(t, id))
		}
	}
	renamed, err := template.Parse([]byte(text))
	check.Must(t, err)
	return renamed
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	encoded, err := json.Marshal(text)
	check.Must(t, err)
	return string(encoded)
}

// onlyInCDK are the beginnings of ids that the configuration of Terraform lacks: it deploys
// payments and orders alone.
var onlyInCDK = []string{"Accounts", "CheckedOut", "Checkout", "Executions", "OrderEvents", "Outbox", "Relay", "Shared", "Transfer", "checkout", "shared", "transfer"}

func isOnlyInCDK(id string) bool {
	return slices.ContainsFunc(onlyInCDK, func(start string) bool { return strings.HasPrefix(strings.TrimPrefix(id, "Alarms"), start) })
}

// paymentsAndOrders returns the part of CDK's template that Terraform deploys, too.
func paymentsAndOrders(t *testing.T) template.Template {
	t.Helper()
	whole := cdk(t)
	for _, part := range []string{"Resources", "Outputs"} {
		of := whole[part].(map[string]any)
		for id := range of {
			if isOnlyInCDK(id) {
				delete(of, id)
			}
		}
	}
	return whole
}

func TestTerraformAgreesWithCDK(t *testing.T) {
	want := paymentsAndOrders(t)
	check.Equal(t, len(want.IDs("AWS::CloudWatch::Alarm")) > 20, true, "alarms of payments and orders")
	for _, difference := range differences(t, terraform(t), want) {
		t.Error(difference)
	}
}

// differences compares the resources of Terraform and CDK.
func differences(t *testing.T, got, want template.Template) (all []string) {
	t.Helper()
	compare := func(about string, got, want any) {
		if !reflect.DeepEqual(got, want) {
			all = append(all, fmt.Sprintf("%s: Terraform has\n%s, CDK\n%s", about, indented(t, got), indented(t, want)))
		}
	}
	named := func(id string, _ template.Resource) string { return id }
	for _, kind := range []string{
		"AWS::ApiGatewayV2::Stage", "AWS::CloudWatch::Alarm", "AWS::DynamoDB::GlobalTable", "AWS::Lambda::EventSourceMapping",
		"AWS::Logs::LogGroup", "AWS::SNS::Topic", "AWS::SNS::TopicPolicy", "AWS::SQS::Queue", "AWS::SQS::QueuePolicy",
	} {
		readFormats(t, got, want)
		ours, theirs := byName(got, kind, named), byName(want, kind, named)
		compare("the number of "+kind, len(ours) > 0, true)
		for id := range union(ours, theirs) {
			compare(id, ours[id], theirs[id])
		}
	}
	ours, theirs := functions(got), functions(want)
	for id := range union(ours, theirs) {
		compare(id, properties(ours[id]), properties(theirs[id]))
		compare("permissions of "+id, beyondLogs(ours[id]), beyondLogs(theirs[id]))
	}
	compare("routes", routes(got), routes(want))
	compare("outputs", outputs(got), outputs(want))
	compare("dashboards", widgets(t, got), widgets(t, want))
	return all
}

// properties returns those that both state: the code comes to Lambda in different ways, and
// a function of Terraform says that its log is text, which is Lambda's default.
func properties(f template.Function) map[string]any {
	p := map[string]any{}
	for name, value := range f.Properties {
		if name != "Code" && name != "Role" {
			p[name] = value
		}
	}
	if logs, ok := p["LoggingConfig"].(map[string]any); ok && logs["LogFormat"] == "Text" {
		p["LoggingConfig"] = map[string]any{"LogGroup": logs["LogGroup"]}
	}
	return p
}

// beyondLogs returns the permissions of a function, except writing its own log: CDK attaches a policy
// of AWS for that.
func beyondLogs(f template.Function) []string {
	return slices.DeleteFunc(allowed(f), func(line string) bool { return strings.HasPrefix(line, "Allow logs:") })
}

// readFormats replaces the formats of access logs by their contents, whose order is free.
func readFormats(t *testing.T, all ...template.Template) {
	t.Helper()
	for _, from := range all {
		for _, stage := range from.Resources("AWS::ApiGatewayV2::Stage") {
			settings, _ := stage.Properties()["AccessLogSettings"].(map[string]any) // nil differs from those of CDK
			if text, ok := settings["Format"].(string); ok {
				var format map[string]any
				check.Must(t, json.Unmarshal([]byte(text), &format))
				settings["Format"] = format
			}
		}
	}
}

func routes(from template.Template) (all []string) {
	for _, r := range from.Resources("AWS::ApiGatewayV2::Route") {
		all = append(all, fmt.Sprint(r.Properties()["RouteKey"], " to ", r.Properties()["Target"]))
	}
	for _, r := range from.Resources("AWS::ApiGatewayV2::Integration") {
		all = append(all, fmt.Sprint(r.Properties()))
	}
	for _, r := range from.Resources("AWS::Lambda::Permission") {
		all = append(all, fmt.Sprint(r.Properties()["Action"], " by ", r.Properties()["Principal"]))
	}
	slices.Sort(all)
	return all
}

func outputs(from template.Template) (names []string) {
	of, _ := from["Outputs"].(map[string]any) // nil has no names, and differs
	for name := range of {
		names = append(names, strings.ToLower(punctuation.ReplaceAllString(name, "")))
	}
	slices.Sort(names)
	return names
}

// widgets returns those of all dashboards, except those of functions that only CDK deploys.
// Their places do not matter.
func widgets(t *testing.T, from template.Template) (all []string) {
	t.Helper()
	for _, r := range from.Resources("AWS::CloudWatch::Dashboard") {
		body, ok := r.Properties()["DashboardBody"].(map[string]any)
		if !ok {
			t.Fatalf("a dashboard is %v", r.Properties())
		}
		if join, ok := body["Fn::Join"].([]any); ok { // of CDK
			text := ""
			for _, part := range join[1].([]any) {
				if literal, ok := part.(string); ok {
					text += literal
				} else { // within a string
					text += strings.Trim(quoted(t, quoted(t, fmt.Sprint(part))), `"\`)
				}
			}
			check.Must(t, json.Unmarshal([]byte(text), &body))
		}
		for _, v := range body["widgets"].([]any) {
			widget := v.(map[string]any)
			delete(widget, "x")
			delete(widget, "y")
			text := fmt.Sprint(widget)
			if !slices.ContainsFunc(onlyInCDK, func(name string) bool { return strings.Contains(text, name) }) {
				all = append(all, text)
			}
		}
	}
	slices.Sort(all)
	return all
}

// Every row changes the configuration in one place, which must show.
func TestDriftOfTerraformIsNoticed(t *testing.T) {
	rows := []struct{ file, old, new string }{
		{"access/main.tf", `["dynamodb:DeleteItem", `, `[`},
		{"access/main.tf", `"dynamodb:PartiQLInsert", `, ``},
		{"access/main.tf", `${operation}#*`, `${operation}*`},
		{"access/main.tf", `"Null" `, `"NotNull" `},
		{"alarms/dashboard.tf", `"not run", `, ``},
		{"alarms/dashboard.tf", `stat = "p99"`, `stat = "p90"`},
		{"alarms/main.tf", `LeaseLost =`, `LostLease =`},
		{"alarms/main.tf", `outcome = "lease lost", threshold = 1`, `outcome = "lease lost", threshold = 2`},
		{"alarms/main.tf", `outcome = "unknown"`, `outcome = "failed"`},
		{"alarms/main.tf", `metric = "LapsedLeases"`, `metric = "Lapsed"`},
		{"alarms/main.tf", `calls >= 20`, `calls >= 2`},
		{"alarms/main.tf", `min(3600,`, `min(600,`},
		{"alarms/main.tf", `a key came again`, `a key came`},
		{"alarms/main.tf", `period              = 300`, `period              = 60`},
		{"alarms/main.tf", `ok_actions          = var.notify`, ``},
		{"alarms/main.tf", `"notBreaching"`, `"breaching"`},
		{"alarms/variables.tf", `optional(number, 10)`, `optional(number, 11)`},
		{"examples/main.tf", `["place-order"]`, `["place"]`},
		{"examples/main.tf", `throttling_burst_limit = 500`, `throttling_burst_limit = 501`},
		{"examples/main.tf", `"POST /payments"`, `"PUT /payments"`},
		{"examples/main.tf", `"cloudwatch.amazonaws.com"`, `"events.amazonaws.com"`},
		{"examples/main.tf", `group_commit      = true`, ``},
		{"examples/main.tf", `prevent_destroy = true`, `prevent_destroy = false`},
		{"examples/main.tf", `14 * 24`, `13 * 24`},
		{"examples/outputs.tf", `"orders_queue"`, `"queue"`},
		{"function/main.tf", `["arm64"]`, `["x86_64"]`},
		{"function/main.tf", `"Text"`, `"JSON"`},
		{"function/variables.tf", `default     = 10`, `default     = 11`},
		{"function/variables.tf", `default     = 30`, `default     = 60`},
		{"queue/main.tf", `6 * var.function.timeout`, `5 * var.function.timeout`},
		{"queue/main.tf", `prevent_destroy = true`, `prevent_destroy = false`},
		{"queue/main.tf", `["ReportBatchItemFailures"]`, `[]`},
		{"queue/main.tf", `"sqs:DeleteMessage", `, ``},
		{"queue/main.tf", `"aws:SecureTransport" = "false"`, `"aws:SecureTransport" = "true"`},
		{"queue/variables.tf", `default     = 5`, `default     = 3`},
		{"table/main.tf", `= !var.ephemeral`, `= var.ephemeral`},
		{"table/main.tf", "enabled = true\n  }", "enabled = false\n  }"},
		{"table/main.tf", `attribute_name = var.expiration`, `attribute_name = "ttl"`},
	}
	var folders []string
	for _, row := range rows {
		folder := t.TempDir()
		check.Must(t, os.CopyFS(folder, os.DirFS(terraformFolder)))
		text := read(t, filepath.Join(folder, row.file))
		check.Contains(t, text, row.old, row.file)
		check.Must(t, os.WriteFile(filepath.Join(folder, row.file), []byte(strings.ReplaceAll(text, row.old, row.new)), 0o644))
		folders = append(folders, folder)
	}
	want := paymentsAndOrders(t)
	for i, drifted := range evaluated(t, folders...) {
		if len(differences(t, drifted, want.Clone())) == 0 {
			t.Errorf("%s: %q in place of %q goes unnoticed", rows[i].file, rows[i].new, rows[i].old)
		}
	}
}
