package main

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

// calls are the actions of IAM that each call of the store needs.
var calls = map[string]string{
	"BatchExecuteStatement": "PartiQLDelete PartiQLInsert PartiQLUpdate", "BatchGetItem": "BatchGetItem",
	"DeleteItem": "DeleteItem", "GetItem": "GetItem", "PutItem": "PutItem", "UpdateItem": "UpdateItem",
	"TransactWriteItems": "PutItem UpdateItem", // of the record; the other writes are a handler's
}

// interfaces returns the calls of DynamoDB of each interface in a package.
func interfaces(t *testing.T, folder string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, i := range regexp.MustCompile(`(?ms)^type (\w+) interface \{\n(.*?)^\}`).FindAllStringSubmatch(source(t, folder), -1) {
		for _, call := range regexp.MustCompile(`(?m)^\t(\w+)\(.*\*dynamodb\.\w+Input\b`).FindAllStringSubmatch(i[2], -1) {
			found[i[1]] = append(found[i[1]], call[1])
		}
	}
	return found
}

// The store calls DynamoDB through Client, and with group commit also through
// GroupClient. Tests and tools use TableClient, and publishers from a table of their
// own outbox.Client. A further interface needs a grant, or a reason to have none.
func TestStoreHasNoOtherClient(t *testing.T) {
	for folder, want := range map[string]string{"../../../dynamo": "[Client GroupClient TableClient]", "../../../dynamo/outbox": "[Client]"} {
		var names []string
		for name := range interfaces(t, folder) {
			names = append(names, name)
		}
		slices.Sort(names)
		check.Equal(t, fmt.Sprint(names), want, folder)
	}
}

// A function may make the calls of the store on the table, those of group commit all or none, and
// no more. A call that is added to the store without being granted fails here.
func TestFunctionsMayMakeTheCallsOfTheStore(t *testing.T) {
	store, allowed := interfaces(t, "../../../dynamo"), map[bool][]string{}
	for _, group := range []bool{false, true} {
		made := store["Client"]
		if group {
			made = slices.Concat(made, store["GroupClient"])
		}
		for _, call := range made {
			check.Equal(t, calls[call] == "", false, call, "is unknown: add its actions to calls")
			if !group && strings.HasPrefix(call, "Batch") {
				continue
			}
			for action := range strings.FieldsSeq(calls[call]) {
				allowed[group] = append(allowed[group], "dynamodb:"+action)
			}
		}
		slices.Sort(allowed[group])
		allowed[group] = slices.Compact(allowed[group])
	}
	for name, deployed := range templates(t) {
		users := 0
		for _, f := range deployed.Functions() {
			if f.Table() != "" {
				users++
				check.Equal(t, f.On(f.Table()), allowed[f.Groups()], name, f.ID)
			}
		}
		check.Equal(t, users > 0, true, name)
	}
}

// No statement allows a wildcard action or resource of DynamoDB.
func TestNothingIsAllowedOnEveryTable(t *testing.T) {
	for name, deployed := range templates(t) {
		for _, f := range deployed.Functions() {
			for _, s := range f.Statements {
				ours := strings.Contains(fmt.Sprint(s.Actions), "dynamodb:")
				check.Equal(t, ours && strings.ContainsAny(fmt.Sprint(s.Actions, s.Resources), "*?"), false, name, f.ID, s)
				check.Equal(t, slices.Contains(s.Actions, "*"), false, name, f.ID)
			}
		}
	}
}

func TestAlarmsReadWhatIsWritten(t *testing.T) {
	for name, deployed := range templates(t) {
		check.Equal(t, deployed.Unwritten(), []string(nil), name)
		for id, alarm := range deployed.Resources("AWS::CloudWatch::Alarm") {
			check.Equal(t, alarm.Properties()["TreatMissingData"], "notBreaching", name, id)
		}
	}
}

// The sample of the page states of its table and queues what template.yaml does, and a part of that
// of its function.
func TestPageAgreesWithSAM(t *testing.T) {
	sample, err := template.Parse([]byte(strings.ReplaceAll(indented(t, page(t)), "OrdersDeadLetters", "OrdersQueueDeadLetters")))
	check.Must(t, err)
	whole := sam(t)
	for id, got := range sample.Resources() {
		switch got["Type"] {
		case "AWS::Serverless::Function":
			part, of := functions(sample)[id].Properties, functions(whole)[id].Properties
			delete(part, "Policies") // TestFunctionsMayMakeTheCallsOfTheStore
			check.Equal(t, within(part, of), true, id, "is a part of", indented(t, of))
		case "AWS::Lambda::EventSourceMapping":
			check.Equal(t, got.Properties()["FunctionResponseTypes"], any([]any{"ReportBatchItemFailures"}))
		case "AWS::DynamoDB::GlobalTable":
			check.Equal(t, fmt.Sprint(got["DeletionPolicy"], got["UpdateReplacePolicy"]), "RetainRetain", id)
			check.Equal(t, id == "PlacedOrders" || reflect.DeepEqual(got, whole.Resources()[id]), true, id) // business data has backups as one likes
		default:
			check.Equal(t, got, whole.Resources()[id], id)
		}
	}
}

// within reports whether a value is a part of a second one.
func within(part, whole any) bool {
	if part, is := part.(map[string]any); is {
		of, _ := whole.(map[string]any) // nil has no keys
		for key, value := range part {
			if !within(value, of[key]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(part, whole)
}
