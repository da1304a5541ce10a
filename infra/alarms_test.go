package infra

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/template"
)

// watched is a function behind an API, a queue, a stream and a topic.
func watched(t *testing.T, stack awscdk.Stack) []*IdempotentFunction {
	t.Helper()
	f := newFunction(t, stack, longRecords)
	f.AddHTTPAPI("API", &HTTPAPIProps{Public: true, Routes: []string{"POST /orders"}})
	f.AddQueue("Orders", nil)
	f.AddStream("Clicks", awskinesis.NewStream(stack, jsii.String("Stream"), nil), nil)
	f.AddTopic(awssns.NewTopic(stack, jsii.String("Topic"), nil))
	return []*IdempotentFunction{f}
}

func TestAlarms(t *testing.T) {
	stack := newStack()
	topic := awssns.NewTopic(stack, jsii.String("OnCall"), nil)
	made := NewAlarms(stack, "Alarms", &AlarmsProps{Functions: watched(t, stack), Notify: []awssns.ITopic{topic}, Operations: []string{"pay", "refund"}})
	deployed := synth(t, stack)

	want := strings.Fields("FunctionErrors FunctionThrottles FunctionServerErrors FunctionUndelivered FunctionDeadLetters FunctionQueueAge FunctionFailures Function2Failures FunctionIteratorAge")
	for _, operation := range []string{"pay", "refund"} {
		for _, alarm := range strings.Fields("LeaseLost Unknown TimedOut Mismatch Takeovers LapsedLeases Refused StoreErrors StoreThrottles Conflicts") {
			want = append(want, operation+alarm)
		}
	}
	var got []string
	for id, alarm := range deployed.Resources("AWS::CloudWatch::Alarm") {
		got = append(got, strings.TrimPrefix(id, "Alarms"))
		p := alarm.Properties()
		if len(p["AlarmActions"].([]any)) != 1 || len(p["OKActions"].([]any)) != 1 {
			t.Errorf("%s tells nobody", id)
		}
		if text := p["AlarmDescription"].(string); !strings.Contains(text, ". ") {
			t.Errorf("%s does not say what to do: %s", id, text)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) || len(made) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, problem := range deployed.Problems(template.AlarmRule, template.Actions{}) {
		t.Error(problem)
	}
}

// The thresholds, and what they are compared with.
func TestAlarmThresholds(t *testing.T) {
	stack := newStack()
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: watched(t, stack), Operations: []string{"pay"}, Takeovers: 9})
	got := map[string]float64{}
	for id, alarm := range synth(t, stack).Resources("AWS::CloudWatch::Alarm") {
		p := alarm.Properties()
		got[strings.TrimPrefix(id, "Alarms")] = p["Threshold"].(float64)
		if p["ComparisonOperator"] != "GreaterThanOrEqualToThreshold" || p["EvaluationPeriods"] != 1.0 {
			t.Errorf("%s: %v", id, p)
		}
	}
	want := map[string]float64{
		"payLeaseLost": 1, "payUnknown": 1, "payTimedOut": 1, "payMismatch": 10, "payTakeovers": 9, "payLapsedLeases": 1, "payRefused": 10, "payStoreErrors": 1, "payStoreThrottles": 1, "payConflicts": 20,
		"FunctionErrors": 5, "FunctionThrottles": 5, "FunctionServerErrors": 1, "FunctionUndelivered": 1,
		"FunctionDeadLetters": 1, "FunctionQueueAge": 3600, "FunctionFailures": 1, "Function2Failures": 1, "FunctionIteratorAge": 3600e3,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// A function that does not run writes no metrics: these are AWS's.
func TestAlarmsOfAnOutage(t *testing.T) {
	stack := newStack()
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: watched(t, stack)})
	alarms := synth(t, stack).Resources("AWS::CloudWatch::Alarm")
	for id, want := range map[string]string{
		"FunctionErrors":       "AWS/Lambda Errors FunctionName=Function",
		"FunctionThrottles":    "AWS/Lambda Throttles FunctionName=Function",
		"FunctionUndelivered":  "AWS/Lambda DestinationDeliveryFailures FunctionName=Function",
		"FunctionServerErrors": "AWS/ApiGateway 5xx ApiId=FunctionAPI",
	} {
		p := alarms["Alarms"+id].Properties()
		d := p["Dimensions"].([]any)[0].(map[string]any)
		got := fmt.Sprint(p["Namespace"], " ", p["MetricName"], " ", d["Name"], "=", d["Value"].(map[string]any)["Ref"])
		if got != want || p["Statistic"] != "Sum" {
			t.Errorf("%s: got %s of %s", id, p["Statistic"], got)
		}
	}
}

// A share of no calls is no data, and no conflicts are 0 %.
func TestConflictsAreAShareOfCalls(t *testing.T) {
	stack := newStack()
	NewAlarms(stack, "Alarms", &AlarmsProps{Operations: []string{"pay"}})
	metrics := synth(t, stack).Resources()["AlarmspayConflicts"].Properties()["Metrics"].([]any)
	if expression := metrics[0].(map[string]any)["Expression"]; expression != "IF(calls >= 20, 100 * (FILL(conflict, 0)) / calls, 0)" || len(metrics) != 3 {
		t.Errorf("got %v", metrics)
	}
}

// An alarm at an age that no message reaches never rings.
func TestQueueAgeIsReached(t *testing.T) {
	for name, c := range map[string]struct {
		retention, age time.Duration
		want           float64
		words          string
	}{
		"default":       {4 * day, 0, 3600, ""},
		"a short queue": {30 * time.Minute, 0, 900, ""},
		"just in time":  {time.Hour, time.Hour - time.Second, 3599, ""},
		"at its end":    {time.Hour, time.Hour, 0, "QueueAge: no message of S/Function/Orders/Queue reaches the age of 1h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			f := newFunction(t, stack, longRecords)
			f.AddQueue("Orders", &QueueProps{Retention: c.retention})
			wantRefusal(t, c.words, func() {
				NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}, QueueAge: c.age})
			})
			if c.words != "" {
				return
			}
			if got := synth(t, stack).Resources()["AlarmsFunctionQueueAge"].Properties()["Threshold"]; got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// The retry of a handler that was cut off behind its effect repeats the effect.
func TestAlarmRingsForAHandlerThatTimedOut(t *testing.T) {
	stack := newStack()
	NewAlarms(stack, "Alarms", &AlarmsProps{Operations: []string{"pay"}})
	p := synth(t, stack).Resources()["AlarmspayTimedOut"].Properties()
	want := []any{
		map[string]any{"Name": "operation", "Value": "pay"}, map[string]any{"Name": "outcome", "Value": "timed out"},
	}
	if p["MetricName"] != "Calls" || p["Threshold"] != 1.0 || !reflect.DeepEqual(p["Dimensions"], want) {
		t.Errorf("got %v", p)
	}
	if text := fmt.Sprint(p["AlarmDescription"]); !strings.Contains(text, "the retry repeats it") || !strings.Contains(text, "Raise the timeout") {
		t.Errorf("it says %q", text)
	}
}

// A process that was killed behind its effect is taken over, and the effect is
// repeated: one takeover is enough to ring.
func TestAlarmRingsForTheFirstTakeoverOfALapsedLease(t *testing.T) {
	stack := newStack()
	NewAlarms(stack, "Alarms", &AlarmsProps{Operations: []string{"pay"}})
	p := synth(t, stack).Resources()["AlarmspayLapsedLeases"].Properties()
	want := []any{map[string]any{"Name": "operation", "Value": "pay"}}
	if p["MetricName"] != "LapsedLeases" || p["Threshold"] != 1.0 || !reflect.DeepEqual(p["Dimensions"], want) {
		t.Errorf("got %v", p)
	}
	if text := fmt.Sprint(p["AlarmDescription"]); !strings.Contains(text, "may have happened twice") {
		t.Errorf("it says %q", text)
	}
}

// A scope that finds no caller refuses every request, without any other sign.
func TestAlarmRingsForRefusedRequests(t *testing.T) {
	stack := newStack()
	NewAlarms(stack, "Alarms", &AlarmsProps{Operations: []string{"pay"}, Refusals: 3})
	p := synth(t, stack).Resources()["AlarmspayRefused"].Properties()
	want := []any{map[string]any{"Name": "operation", "Value": "pay"}} // of all reasons together
	if p["MetricName"] != "Refused" || p["Threshold"] != 3.0 || !reflect.DeepEqual(p["Dimensions"], want) {
		t.Errorf("got %v", p)
	}
	if text := fmt.Sprint(p["AlarmDescription"]); !strings.Contains(text, "a scope that finds no caller refuses every request") {
		t.Errorf("it says %q", text)
	}
}
