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

	"github.com/lambda-once/once/infra/internal/template"
)

func newRelay(t *testing.T, stack awscdk.Stack, change func(*RelayProps)) *Relay {
	t.Helper()
	props := &RelayProps{Code: zip(t), Outbox: NewOutbox(stack, "Outbox", nil)}
	if change != nil {
		change(props)
	}
	return NewRelay(stack, "Relay", props)
}

func TestRelay(t *testing.T) {
	stack := newStack()
	newRelay(t, stack, func(p *RelayProps) { p.Environment = map[string]string{"EVENT_BUS": "shop"} })
	deployed := synth(t, stack)
	function := only(t, deployed, "AWS::Lambda::Function").Properties()
	variables := map[string]any{"Variables": map[string]any{
		"AWS_LAMBDA_LOG_LEVEL": "INFO", "EVENT_BUS": "shop", "OUTBOX_TABLE": map[string]any{"Ref": "Outbox"},
	}}
	if !reflect.DeepEqual(function["Environment"], variables) || function["Timeout"] != 30.0 {
		t.Errorf("got %v", function)
	}
	source := only(t, deployed, mappingType).Properties()
	want := map[string]any{
		"BatchSize":                      100.0,
		"BisectBatchOnFunctionError":     true,
		"DestinationConfig":              map[string]any{"OnFailure": map[string]any{"Destination": map[string]any{"Fn::GetAtt": []any{"RelayFailures", "Arn"}}}},
		"EventSourceArn":                 map[string]any{"Fn::GetAtt": []any{"Outbox", "StreamArn"}},
		"FilterCriteria":                 map[string]any{"Filters": []any{map[string]any{"Pattern": `{"dynamodb":{"NewImage":{"published":{"N":[{"exists":false}]}}},"eventName":["INSERT","MODIFY"]}`}}},
		"FunctionName":                   map[string]any{"Ref": "RelayFunction"},
		"FunctionResponseTypes":          []any{"ReportBatchItemFailures"},
		"MaximumBatchingWindowInSeconds": 0.0,
		"MaximumRecordAgeInSeconds":      43200.0,
		"MaximumRetryAttempts":           10000.0,
		"ParallelizationFactor":          1.0,
		"StartingPosition":               "TRIM_HORIZON",
	}
	if !reflect.DeepEqual(source, want) {
		t.Errorf("got %v", source)
	}
	breakSources(t, deployed, mappingType, map[string]template.Rule{
		"FunctionResponseTypes": template.Report, "DestinationConfig": template.DLQ, "BisectBatchOnFunctionError": template.DLQ,
		"FilterCriteria": template.Relayed, "EventSourceArn": template.Relayed,
	})
}

// A relay marks, and reads its stream. Records, and the rest of the outbox,
// are nothing to it.
func TestRelayMayNothingElse(t *testing.T) {
	stack := newStack()
	newRelay(t, stack, nil)
	deployed := synth(t, stack)
	relay := deployed.Functions()[0]
	onTable, onStream := []string{}, []string{}
	for _, s := range relay.Statements {
		switch at := fmt.Sprint(s.Resources); at {
		case "[map[Fn::GetAtt:[Outbox Arn]]]":
			onTable = append(onTable, s.Actions...)
		case "[map[Fn::GetAtt:[Outbox StreamArn]]]":
			onStream = append(onStream, s.Actions...)
		case "[map[Fn::GetAtt:[RelayFailures Arn]]]":
		default:
			t.Errorf("%v on %s", s.Actions, at)
		}
	}
	slices.Sort(onStream)
	stream := strings.Fields("dynamodb:DescribeStream dynamodb:GetRecords dynamodb:GetShardIterator dynamodb:ListStreams")
	if !slices.Equal(onTable, []string{"dynamodb:UpdateItem"}) || !slices.Equal(onStream, stream) {
		t.Errorf("on the table %v, on the stream %v", onTable, onStream)
	}
	for _, rule := range []template.Rule{template.Relayed, template.TTL, template.Wildcard} {
		for _, problem := range deployed.Problems(rule, template.Actions{}) {
			t.Errorf("%s: %s", rule, problem)
		}
	}
}

// With more than one batch of a shard at once, only the writes to one item
// stay in order.
func TestRelayBreaks(t *testing.T) {
	stack := newStack()
	newRelay(t, stack, nil)
	deployed := synth(t, stack)
	for name, apply := range map[string]func(template.Template){
		"two batches at once": func(b template.Template) { only(t, b, mappingType).Properties()["ParallelizationFactor"] = 2.0 },
		"keys only in the stream": func(b template.Template) {
			b.Resources()["Outbox"].Properties()["StreamSpecification"] = map[string]any{"StreamViewType": "KEYS_ONLY"}
		},
		"what is written over": func(b template.Template) {
			only(t, b, mappingType).Properties()["FilterCriteria"] = map[string]any{"Filters": []any{map[string]any{"Pattern": `{"eventName":["INSERT"]}`}}}
		},
		"other keys": func(b template.Template) { delete(b.Resources()["Outbox"].Properties(), "KeySchema") },
		"no mark":    func(b template.Template) { delete(only(t, b, "AWS::IAM::Policy").Properties(), "PolicyDocument") },
	} {
		broken := deployed.Clone()
		apply(broken)
		if len(broken.Problems(template.Relayed, template.Actions{})) == 0 {
			t.Errorf("%s: nobody notices", name)
		}
	}
}

func TestRelayRefuses(t *testing.T) {
	for words, change := range map[string]func(*RelayProps){
		"Code: it is required":              func(p *RelayProps) { p.Code = "" },
		"Outbox: it is required":            func(p *RelayProps) { p.Outbox = nil },
		"BatchSize: 1001 is not":            func(p *RelayProps) { p.BatchSize = 1001 },
		"BatchingWindow: 6m0s is not":       func(p *RelayProps) { p.BatchingWindow = 6 * time.Minute },
		"FailureRetention: 360h0m0s is not": func(p *RelayProps) { p.FailureRetention = 15 * day },
		"MaxAge: 24h0m1s is not":            func(p *RelayProps) { p.MaxAge = day + time.Second },
		"Retries: -1 is not":                func(p *RelayProps) { p.Retries = -1 },
		"OUTBOX_TABLE is set by this":       func(p *RelayProps) { p.Environment = map[string]string{"OUTBOX_TABLE": "x"} },
		"Timeout: 16m0s is not":             func(p *RelayProps) { p.Timeout = 16 * time.Minute },
		"LogLevel: \"info\" is none":        func(p *RelayProps) { p.LogLevel = "info" },
		"MemorySize: 64 is not":             func(p *RelayProps) { p.MemorySize = 64 },
	} {
		t.Run(words, func(t *testing.T) {
			wantRefusal(t, words, func() { newRelay(t, newStack(), change) })
		})
	}
}

func TestRelayAlarms(t *testing.T) {
	stack := newStack()
	NewAlarms(stack, "Alarms", &AlarmsProps{Relays: []*Relay{newRelay(t, stack, nil)}})
	deployed := synth(t, stack)
	got := map[string]float64{}
	for id, alarm := range deployed.Resources("AWS::CloudWatch::Alarm") {
		got[strings.TrimPrefix(id, "Alarms")] = alarm.Properties()["Threshold"].(float64)
		if text := alarm.Properties()["AlarmDescription"].(string); !strings.Contains(text, ". ") {
			t.Errorf("%s does not say what to do: %s", id, text)
		}
	}
	want := map[string]float64{"RelayErrors": 5, "RelayThrottles": 5, "RelayFailures": 1, "RelayIteratorAge": 300e3}
	if !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	for _, problem := range deployed.Problems(template.AlarmRule, template.Actions{}) {
		t.Error(problem)
	}
}

func TestRelayOnTheDashboard(t *testing.T) {
	stack := newStack()
	NewDashboard(stack, "Dashboard", &DashboardProps{Relays: []*Relay{newRelay(t, stack, nil)}})
	var shown []string
	for _, w := range widgets(t, only(t, synth(t, stack), "AWS::CloudWatch::Dashboard")) {
		if w.Properties.Title != "" {
			shown = append(shown, w.Properties.Title)
		}
	}
	if want := []string{"Errors and throttles of the relay", "Given up: failures", "Behind the outbox, ms"}; !slices.Equal(shown, want) {
		t.Errorf("got %v", shown)
	}
}

// Alarms take their ids from those of functions and relays.
func TestWatchingRelaysRefuses(t *testing.T) {
	for words, construct := range map[string]func(){
		"Relays: one is nil":          func() { NewAlarms(newStack(), "A", &AlarmsProps{Relays: []*Relay{nil}}) },
		"OutboxAge: -1ns is negative": func() { NewAlarms(newStack(), "A", &AlarmsProps{Operations: []string{"a"}, OutboxAge: -1}) },
		`have the id "Relay"`: func() {
			r := newRelay(t, newStack(), nil)
			NewDashboard(newStack(), "D", &DashboardProps{Relays: []*Relay{r, r}})
		},
	} {
		t.Run(words, func(t *testing.T) { wantRefusal(t, words, construct) })
	}
}
