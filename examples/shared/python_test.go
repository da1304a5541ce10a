package main

import (
	"bytes"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// python reads events, a line each. It prints the ids of their records, and the data of
// their answers, as Powertools for Python makes both.
const python = `
import hashlib, json, sys
for line in sys.stdin:
    event = json.loads(line)
    text = json.dumps([event["first"], event["value"]], sort_keys=True)
    record = "app.handler.pay#" + hashlib.md5(text.encode()).hexdigest()
    print(record)
    print(json.dumps({"record": record, "event": event}, sort_keys=True))
`

// loads reads events and their stored results, and prints those events that are
// not in it.
const loads = `
import json, sys
for event, stored in zip(sys.stdin, sys.stdin):
    if json.loads(stored)["event"] != json.loads(event):
        print(event, stored)
`

// Our record of an event is that of Python, with JSON text that Python loads; and we
// replay results that Python has stored.
func TestEveryValueReplaysBothWaysWithPython(t *testing.T) {
	t.Parallel()
	client, records := dynamodblocal.NewTable(t)
	_, executed := dynamodblocal.NewTable(t)
	p := &pair{client: client, records: records, executed: executed}
	p.once = deployed.Start(t, lambdaruntime.Function{Name: "shared", Timeout: 20 * time.Second}, "IDEMPOTENCY_TABLE="+records,
		"SHARED_TABLE="+executed, "POWERTOOLS_DIALECT=python", "POWERTOOLS_PREFIX=app.handler.pay", "POWERTOOLS_KEY=[first, value]")
	var events []string
	for _, value := range append(values, `9007199254740993`, `1e21`, `-0.0`, `1e16`, `123456789012345678901234567890`) {
		events = append(events, `{"first":"Once","value":`+value+`}`, `{"first":"Python","value":`+value+`}`)
	}
	made := inPython(t, python, events)
	var stored []string
	for i, event := range events {
		record, data := made[2*i], made[2*i+1]
		ours := i%2 == 0
		if !ours {
			p.completed(t, record, data)
		}
		check.Equal(t, mustAsk(t, p.once, event).Record, record, event, "the record and that of Python")
		if executions := p.executions(t)[record]; (executions == 1) != ours {
			t.Errorf("%s: %d executions", event, executions)
		}
		stored = append(stored, event, text(p.record(t, record)["data"]))
	}
	for _, differs := range inPython(t, loads, stored) {
		t.Errorf("Python loads another event: %s", differs)
	}
}

func inPython(t *testing.T, program string, lines []string) []string {
	t.Helper()
	var stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), "python3", "-c", program)
	command.Stdin, command.Stderr = strings.NewReader(strings.Join(lines, "\n")+"\n"), &stderr
	out, err := command.Output()
	check.Must(t, err, "python3", &stderr)
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
}

// completed writes the record of a call that Python has finished.
func (p *pair) completed(t *testing.T, record, data string) {
	t.Helper()
	_, err := p.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &p.records, Item: map[string]types.AttributeValue{
		"id": &types.AttributeValueMemberS{Value: record}, "status": &types.AttributeValueMemberS{Value: "COMPLETED"},
		"data":       &types.AttributeValueMemberS{Value: data},
		"expiration": &types.AttributeValueMemberN{Value: strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)},
	}})
	check.Must(t, err)
}

// A function with a wrong configuration fails before it receives an event.
func TestSettings(t *testing.T) {
	for setting, want := range map[string]string{
		"AWS_LAMBDA_LOG_LEVEL=LOUD":     "AWS_LAMBDA_LOG_LEVEL",
		"IDEMPOTENCY_TABLE=":            "IDEMPOTENCY_TABLE is not set",
		"POWERTOOLS_DIALECT=rust":       "POWERTOOLS_DIALECT",
		"POWERTOOLS_KEY=id[":            "POWERTOOLS_KEY",
		"POWERTOOLS_PREFIX=":            "the prefix is empty",
		"POWERTOOLS_VALIDATION=[amount": "POWERTOOLS_VALIDATION",
		"SHARED_DELAY=soon":             "SHARED_DELAY",
		"SHARED_TABLE=":                 "SHARED_TABLE is not set",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			f := deployed.Start(t, lambdaruntime.Function{Name: "shared"},
				"IDEMPOTENCY_TABLE=records", "POWERTOOLS_DIALECT=typescript", "POWERTOOLS_PREFIX=pay", "SHARED_TABLE=executions", setting)
			deployed.FailsToStart(t, f, want)
		})
	}
}
