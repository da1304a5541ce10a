package infra

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

const alarmType = "AWS::CloudWatch::Alarm"

// watched is a function behind an API, a queue, a stream and a topic.
func watched(t *testing.T, stack awscdk.Stack) []*IdempotentFunction {
	t.Helper()
	f := newFunction(t, stack, longRecords)
	for _, name := range []string{"HTTP", "SQS", "Kinesis", "SNS"} {
		sources()[name].add(f)
	}
	return []*IdempotentFunction{f}
}

// wantAlarms checks that these are all alarms, by their thresholds, and that each says
// how to react.
func wantAlarms(t *testing.T, deployed template.Template, want map[string]float64) {
	t.Helper()
	got := map[string]float64{}
	for id, alarm := range deployed.Resources(alarmType) {
		p := alarm.Properties()
		got[strings.TrimPrefix(id, "Alarms")] = p["Threshold"].(float64)
		check.Equal(t, p["ComparisonOperator"], "GreaterThanOrEqualToThreshold", id)
		check.Equal(t, p["EvaluationPeriods"], map[bool]any{false: 1.0, true: 24.0}[strings.HasSuffix(id, "Silent")], id)
		check.Contains(t, p["AlarmDescription"], ". ", id)
	}
	check.Equal(t, got, want)
	emits(t, deployed)
}

func TestAlarms(t *testing.T) {
	stack := newStack()
	topic := awssns.NewTopic(stack, jsii.String("OnCall"), nil)
	made := NewAlarms(stack, "Alarms", &AlarmsProps{
		Functions: watched(t, stack), Notify: []awssns.ITopic{topic}, Operations: []string{"pay", "refund"}, Thresholds: map[string]float64{"takeovers": 9},
	})
	deployed := synth(t, stack)
	want := map[string]float64{
		"FunctionErrors": 5, "FunctionThrottles": 5, "FunctionServerErrors": 1, "FunctionUndelivered": 1,
		"FunctionDeadLetters": 1, "FunctionQueueAge": 3600, "FunctionFailures": 1, "Function2Failures": 1, "FunctionIteratorAge": 3600e3,
	}
	for _, operation := range []string{"pay", "refund"} {
		for alarm, threshold := range map[string]float64{
			"LeaseLost": 1, "Unknown": 1, "TimedOut": 1, "Repeated": 1, "Expired": 1, "Forgotten": 1, "Mismatch": 10, "Takeovers": 9, "LapsedLeases": 1, "Refused": 10,
			"StoreErrors": 1, "StoreThrottles": 1, "Conflicts": 20,
		} {
			want[operation+alarm] = threshold
		}
	}
	wantAlarms(t, deployed, want)
	check.Equal(t, len(made.Page)+len(made.Ticket), len(want))
	for id, alarm := range deployed.Resources(alarmType) {
		for _, actions := range []string{"AlarmActions", "OKActions"} {
			check.Equal(t, alarm.Properties()[actions], []any{ref("OnCall")}, id, actions)
		}
	}
}

func TestShareOfDuplicatesRingsFromItsThreshold(t *testing.T) {
	stack := newStack()
	NewAlarms(stack, "Alarms", &AlarmsProps{Operations: []string{"pay"}, Thresholds: map[string]float64{"duplicate_percent": 60}})
	alarm := synth(t, stack).Resources()["AlarmspayDuplicates"]
	p := alarm.Properties()
	check.Equal(t, p["Threshold"], any(60.0))
	check.Equal(t, p["Metrics"].([]any)[0].(map[string]any)["Expression"], any("IF(calls >= 20, 100 * (FILL(replayed, 0) + FILL(conflict, 0)) / calls, 0)"))
	var read []string
	for _, r := range alarm.Readings() {
		check.Equal(t, r.Period, 300.0)
		read = append(read, fmt.Sprint(r.Metric, r.Dimensions))
	}
	slices.Sort(read)
	check.Equal(t, read, []string{
		"Once Callsmap[operation:pay outcome:conflict]", "Once Callsmap[operation:pay outcome:replayed]", "Once Callsmap[operation:pay]",
	})
}

// The page has this composite alarm.
func TestCompositeAlarmRingsWithEveryPage(t *testing.T) {
	stack := newStack()
	made := NewAlarms(stack, "Alarms", &AlarmsProps{Functions: watched(t, stack), Operations: []string{"pay"}})
	var rings []awscloudwatch.IAlarmRule
	for _, alarm := range made.Page {
		rings = append(rings, alarm)
	}
	awscloudwatch.NewCompositeAlarm(stack, jsii.String("Page"), &awscloudwatch.CompositeAlarmProps{AlarmRule: awscloudwatch.AlarmRule_AnyOf(rings...)})
	deployed := synth(t, stack)
	rule := fmt.Sprint(only(t, deployed, "AWS::CloudWatch::CompositeAlarm").Properties()["AlarmRule"])
	for id, alarm := range deployed.Resources(alarmType) {
		page := strings.Contains(fmt.Sprint(alarm.Properties()["AlarmDescription"]), "Severity: page.")
		check.Equal(t, strings.Contains(rule, "[Fn::GetAtt:["+id+" Arn]]"), page, id)
	}
}

// The alarms of operations cannot ring for a function that writes no metrics: one with a
// store that reads no ONCE_METRICS, or with an Observer of its own.
func TestFunctionsWithoutMetricsHaveAnAlarm(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, func(p *IdempotentFunctionProps) { p.Operations = []string{"pay", "refund"} })
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}})
	alarm := synth(t, stack).Resources()["AlarmsFunctionSilent"]
	p := alarm.Properties()
	check.Equal(t, p["Metrics"].([]any)[0].(map[string]any)["Expression"], any("IF(FILL(calls, 0) + FILL(calls2, 0) == 0, invocations - FILL(errors, 0), 0)"))
	check.Equal(t, fmt.Sprint(p["DatapointsToAlarm"], " of ", p["EvaluationPeriods"]), "3 of 24")
	var read []string
	for _, r := range alarm.Readings() {
		check.Equal(t, r.Period, 3600.0)
		read = append(read, fmt.Sprint(r.Metric, r.Dimensions))
	}
	slices.Sort(read)
	check.Equal(t, read, []string{
		"AWS/Lambda Errorsmap[FunctionName:map[Ref:Function]]", "AWS/Lambda Invocationsmap[FunctionName:map[Ref:Function]]",
		"Once Callsmap[operation:pay]", "Once Callsmap[operation:refund]",
	})
}

// NoMetrics takes the variable away, and with it the alarms that would need it.
func TestWithoutMetricsNoAlarmWaitsForThem(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, func(p *IdempotentFunctionProps) { p.NoMetrics, p.Operations = true, []string{"pay"} })
	all := []*IdempotentFunction{f}
	wantRefusal(t, `no function with metrics states "pay"`, func() { NewAlarms(stack, "Refused", &AlarmsProps{Functions: all, Operations: []string{"pay"}}) })
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: all})
	deployed := synth(t, stack)
	wantAlarms(t, deployed, map[string]float64{"FunctionErrors": 5, "FunctionThrottles": 5})
	check.Equal(t, strings.Contains(fmt.Sprint(deployed.Functions()[0].Properties["Environment"]), "ONCE_METRICS"), false)
}

// An alarm at an age that no message reaches never rings.
func TestQueueAgeIsReached(t *testing.T) {
	for name, c := range map[string]struct {
		retention time.Duration
		age       float64
		want      any
		words     string
	}{
		"default":       {4 * day, 0, 3600.0, ""},
		"a short queue": {30 * time.Minute, 0, 900.0, ""},
		"just in time":  {time.Hour, 3599, 3599.0, ""},
		"at its end":    {time.Hour, 3600, nil, "Thresholds: nothing waits for queue_age_seconds, because it disappears after 1h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			f := newFunction(t, stack, longRecords)
			f.AddQueue("Orders", &QueueProps{Retention: c.retention})
			thresholds := map[string]float64{"queue_age_seconds": c.age}
			if c.age == 0 {
				thresholds = nil
			}
			wantRefusal(t, c.words, func() {
				NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}, Thresholds: thresholds})
			})
			if c.want != nil {
				check.Equal(t, synth(t, stack).Resources()["AlarmsFunctionQueueAge"].Properties()["Threshold"], c.want)
			}
		})
	}
}

// Alarms take their ids from operations, functions and relays, which CDK may not tell
// apart. CloudWatch has its own limits.
func TestWatchingRefuses(t *testing.T) {
	alarms := func(p AlarmsProps) func() { return func() { NewAlarms(newStack(), "A", &p) } }
	board := func(p DashboardProps) func() { return func() { NewDashboard(newStack(), "D", &p) } }
	pay := []string{"pay"}
	f, r := watched(t, newStack())[0], newRelay(t, newStack(), nil)
	others := newStack()
	topic, fifo := awssns.NewTopic(others, jsii.String("Topic"), nil), awssns.NewTopic(others, jsii.String("FIFO"), &awssns.TopicProps{Fifo: jsii.Bool(true)})
	wantRefusals(t, map[string]func(){
		"nothing to watch":             func() { NewAlarms(newStack(), "A", nil) },
		"nothing to show":              func() { NewDashboard(newStack(), "D", nil) },
		`"Takeovers" is none of`:       alarms(AlarmsProps{Thresholds: map[string]float64{"Takeovers": 9}, Operations: pay}),
		`"" is none of`:                alarms(AlarmsProps{Thresholds: map[string]float64{"": 9}, Operations: pay}),
		"conflict_percent is 101":      alarms(AlarmsProps{Thresholds: map[string]float64{"conflict_percent": 101}, Operations: pay}),
		"duplicate_percent is 101":     alarms(AlarmsProps{Thresholds: map[string]float64{"duplicate_percent": 101}, Operations: pay}),
		"conflict_percent is NaN":      alarms(AlarmsProps{Thresholds: map[string]float64{"conflict_percent": math.NaN()}, Operations: pay}),
		"errors is -1":                 alarms(AlarmsProps{Thresholds: map[string]float64{"errors": -1}, Operations: pay}),
		"refusals is 0":                alarms(AlarmsProps{Thresholds: map[string]float64{"refusals": 0}, Operations: pay}),
		"throttles is +Inf":            alarms(AlarmsProps{Thresholds: map[string]float64{"throttles": math.Inf(1)}, Operations: pay}),
		"Notify: one is nil":           alarms(AlarmsProps{Notify: []awssns.ITopic{nil}, Operations: pay}),
		"Page.Notify: one is nil":      alarms(AlarmsProps{Page: AlarmActions{Notify: []awssns.ITopic{nil}}, Operations: pay}),
		"Ticket.Actions: one is nil":   alarms(AlarmsProps{Ticket: AlarmActions{Actions: []awscloudwatch.IAlarmAction{nil}}, Operations: pay}),
		"Notify: S/FIFO is a FIFO":     alarms(AlarmsProps{Notify: []awssns.ITopic{fifo}, Operations: pay}),
		"Page.Notify: S/FIFO is":       alarms(AlarmsProps{Page: AlarmActions{Notify: []awssns.ITopic{fifo}}, Operations: pay}),
		"Ticket: with Notify it has 6": alarms(AlarmsProps{Notify: []awssns.ITopic{topic, topic, topic}, Ticket: AlarmActions{Notify: []awssns.ITopic{topic, topic, topic}}, Operations: pay}),
		"for iterator_age_seconds": func() {
			NewAlarms(f.scope, "A", &AlarmsProps{Functions: []*IdempotentFunction{f}, Thresholds: map[string]float64{"iterator_age_seconds": 86400}})
		},
		"for outbox_age_seconds":       alarms(AlarmsProps{Thresholds: map[string]float64{"outbox_age_seconds": 43200}, Relays: []*Relay{r}}),
		`"a" is blank or listed twice`: alarms(AlarmsProps{Operations: []string{"a", "a"}}),
		`"" is blank or listed twice`:  board(DashboardProps{Operations: []string{""}}),
		`" " is blank or listed`:       alarms(AlarmsProps{Operations: []string{" "}}),
		`":pay" is no dimension`:       alarms(AlarmsProps{Operations: []string{":pay"}}),
		`"a\tb" is no dimension`:       alarms(AlarmsProps{Operations: []string{"a\tb"}}),
		`"zahlen-für" is no dimension`: alarms(AlarmsProps{Operations: []string{"zahlen-für"}}),
		`aaa" is no dimension`:         alarms(AlarmsProps{Operations: []string{strings.Repeat("a", 256)}}),
		"is already in use in S/A":     alarms(AlarmsProps{Operations: []string{"a/b", "a--b"}}),
		"Functions: one is nil":        board(DashboardProps{Functions: []*IdempotentFunction{nil}}),
		"not made by NewIdempotent":    alarms(AlarmsProps{Functions: []*IdempotentFunction{{}}}),
		"or not made by NewRelay":      board(DashboardProps{Relays: []*Relay{{}}}),
		`two have the id "Function"`:   alarms(AlarmsProps{Functions: []*IdempotentFunction{f, f}}),
		"Relays: one is nil":           alarms(AlarmsProps{Relays: []*Relay{nil}}),
		`have the id "Relay"`:          board(DashboardProps{Relays: []*Relay{r, r}}),
	}, func(construct func()) { construct() })
}
