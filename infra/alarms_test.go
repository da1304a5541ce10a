package infra

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
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

// reads returns what an alarm reads, with the periods.
func reads(alarm template.Resource) (all []string) {
	for _, r := range alarm.Readings() {
		all = append(all, fmt.Sprint(r.Metric, " ", r.Dimensions, " ", r.Period))
	}
	slices.Sort(all)
	return all
}

func TestShareOfDuplicatesRingsFromItsThreshold(t *testing.T) {
	stack := newStack()
	NewAlarms(stack, "Alarms", &AlarmsProps{Operations: []string{"pay"}, Thresholds: map[string]float64{"duplicate_percent": 60}})
	alarm := synth(t, stack).Resources()["AlarmspayDuplicates"]
	p := alarm.Properties()
	check.Equal(t, p["Threshold"], any(60.0))
	check.Equal(t, p["Metrics"].([]any)[0].(map[string]any)["Expression"], any("IF(calls >= 20, 100 * (FILL(replayed, 0) + FILL(conflict, 0)) / calls, 0)"))
	check.Equal(t, reads(alarm), []string{
		"Once Calls map[operation:pay outcome:conflict] 300", "Once Calls map[operation:pay outcome:replayed] 300", "Once Calls map[operation:pay] 300",
	})
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
	check.Equal(t, reads(alarm), []string{
		"AWS/Lambda Errors map[FunctionName:map[Ref:Function]] 3600", "AWS/Lambda Invocations map[FunctionName:map[Ref:Function]] 3600",
		"Once Calls map[operation:pay] 3600", "Once Calls map[operation:refund] 3600",
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
		"conflict_percent is NaN":      alarms(AlarmsProps{Thresholds: map[string]float64{"conflict_percent": math.NaN()}, Operations: pay}),
		"refusals is 0":                alarms(AlarmsProps{Thresholds: map[string]float64{"refusals": 0}, Operations: pay}),
		"throttles is +Inf":            alarms(AlarmsProps{Thresholds: map[string]float64{"throttles": math.Inf(1)}, Operations: pay}),
		"Notify: one is nil":           alarms(AlarmsProps{Notify: []awssns.ITopic{nil}, Operations: pay}),
		"Page.Notify: one is nil":      alarms(AlarmsProps{Page: AlarmActions{Notify: []awssns.ITopic{nil}}, Operations: pay}),
		"Ticket.Actions: one is nil":   alarms(AlarmsProps{Ticket: AlarmActions{Actions: []awscloudwatch.IAlarmAction{nil}}, Operations: pay}),
		"Notify: S/FIFO is a FIFO":     alarms(AlarmsProps{Notify: []awssns.ITopic{fifo}, Operations: pay}),
		"Ticket: with Notify it has 6": alarms(AlarmsProps{Notify: []awssns.ITopic{topic, topic, topic}, Ticket: AlarmActions{Notify: []awssns.ITopic{topic, topic, topic}}, Operations: pay}),
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
		`have the id "Relay"`:          board(DashboardProps{Relays: []*Relay{r, r}}),
	}, func(construct func()) { construct() })
}

// A page and a ticket have their own topics and actions. An action that opens an
// incident must not run when the alarm returns to OK.
func TestActionsFollowTheSeverity(t *testing.T) {
	stack := newStack()
	topic := func(id string) awssns.ITopic { return awssns.NewTopic(stack, &id, nil) }
	item := awscloudwatchactions.NewSsmAction(awscloudwatchactions.OpsItemSeverity_HIGH, awscloudwatchactions.OpsItemCategory_AVAILABILITY)
	NewAlarms(stack, "Alarms", &AlarmsProps{
		Notify:     []awssns.ITopic{topic("All")},
		Operations: []string{"pay"},
		Page:       AlarmActions{Actions: []awscloudwatch.IAlarmAction{item}, Notify: []awssns.ITopic{topic("Pager")}},
		Ticket:     AlarmActions{Notify: []awssns.ITopic{topic("Mail")}},
	})
	for id, alarm := range synth(t, stack).Resources(alarmType) {
		p := alarm.Properties()
		ring, ok := p["AlarmActions"].([]any), p["OKActions"]
		switch {
		case strings.Contains(p["AlarmDescription"].(string), " Severity: page. "):
			check.Equal(t, len(ring), 3, id)
			check.Equal(t, ring[:2], []any{ref("All"), ref("Pager")}, id)
			check.Equal(t, ok, any([]any{ref("All"), ref("Pager")}), id)
		case strings.Contains(p["AlarmDescription"].(string), " Severity: ticket. "):
			check.Equal(t, ring, []any{ref("All"), ref("Mail")}, id)
			check.Equal(t, ok, any([]any{ref("All"), ref("Mail")}), id)
		default:
			t.Errorf("%s has no severity", id)
		}
	}
}

// CloudWatch needs the permission to invoke a function for each alarm.
func TestFunctionIsAnActionOfEveryAlarm(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, nil)
	NewAlarms(stack, "Alarms", &AlarmsProps{
		Operations: []string{"pay"},
		Page:       AlarmActions{Actions: []awscloudwatch.IAlarmAction{awscloudwatchactions.NewLambdaAction(f.Function, nil)}},
	})
	deployed := synth(t, stack)
	pages := 0
	for _, alarm := range deployed.Resources(alarmType) {
		if alarm.Properties()["AlarmActions"] != nil {
			pages++
		}
	}
	check.Equal(t, pages, 8)
	check.Equal(t, len(deployed.IDs("AWS::Lambda::Permission")), pages)
}

func TestDescriptionsOfAlarmsFit(t *testing.T) {
	stack := newStack()
	NewAlarms(stack, "Longest", &AlarmsProps{Operations: []string{strings.Repeat("a", 255)}})
	for id, alarm := range synth(t, stack).Resources(alarmType) {
		check.Equal(t, len(alarm.Properties()["AlarmDescription"].(string)) <= 1024, true, id)
	}
}
