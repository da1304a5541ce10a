package infra

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/appcheck"
	"github.com/lambda-once/once/infra/internal/check"
)

// A record of a stream disappears at its MaxAge, so the alarm rings before, also by
// default.
func TestIteratorAgeIsReached(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, longRecords)
	f.AddStream("Slow", newStream(f), nil)
	f.AddStream("Fast", awskinesis.NewStream(stack, jsii.String("Second"), nil), &StreamProps{MaxAge: 10 * time.Minute})
	r := newRelay(t, stack, nil)
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}, Relays: []*Relay{r}})
	alarms := synth(t, stack).Resources(alarmType)
	check.Equal(t, alarms["AlarmsFunctionIteratorAge"].Properties()["Threshold"], any(300e3))
	check.Equal(t, alarms["AlarmsRelayIteratorAge"].Properties()["Threshold"], any(300e3))
	wantRefusal(t, "nothing waits for iterator_age_seconds, because it disappears after 10m0s", func() {
		NewAlarms(stack, "Late", &AlarmsProps{Functions: []*IdempotentFunction{f}, Thresholds: map[string]float64{"iterator_age_seconds": 600}})
	})
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

// Each name among the thresholds changes the alarms that have it, and no others.
func TestEachThresholdIsThatOfItsAlarms(t *testing.T) {
	entries := slices.Collect(maps.Values(catalog.Share))
	entries = slices.AppendSeq(slices.AppendSeq(entries, maps.Values(catalog.Function)), maps.Values(catalog.Relay))
	check.Equal(t, len(catalog.settings), 12)
	for _, name := range catalog.settings {
		for _, e := range append(entries, catalog.Operation...) {
			s := signal{entry: e}
			want := e.Threshold
			if e.Setting == name {
				want = 7 * s.unit()
			}
			check.Equal(t, s.threshold(&AlarmsProps{Thresholds: map[string]float64{name: 7}}), want, name, e.Name)
		}
	}
}

// AWS writes the metrics of a function under its own name, also those of calls of an alias
// or a version.
func TestAliasesAndVersionsHaveTheAlarmsOfTheirFunction(t *testing.T) {
	imported := func(s awscdk.Stack) awslambda.IVersion {
		return awslambda.Version_FromVersionAttributes(s, jsii.String("Version"), &awslambda.VersionAttributes{Lambda: importedFunction(s), Version: jsii.String("7")})
	}
	for name, qualified := range map[string]func(awscdk.Stack) awslambda.IFunction{
		"imported alias": func(s awscdk.Stack) awslambda.IFunction {
			return awslambda.Alias_FromAliasAttributes(s, jsii.String("Alias"), &awslambda.AliasAttributes{AliasName: jsii.String("live"), AliasVersion: imported(s)})
		},
		"imported version": func(s awscdk.Stack) awslambda.IFunction { return imported(s) },
		"alias":            func(s awscdk.Stack) awslambda.IFunction { return ownFunction(t, s).AddAlias(jsii.String("live"), nil) },
		"version":          func(s awscdk.Stack) awslambda.IFunction { return ownFunction(t, s).CurrentVersion() },
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			f := Protect(stack, "Orders", qualified(stack), &ProtectProps{
				Operations: []string{"pay"}, Retention: 400 * day, Table: NewIdempotencyTable(stack, "Table", nil), Timeout: 20 * time.Second,
			})
			if own, created := appcheck.Unqualified(f.Function).(awslambda.Function); created {
				own.AddEnvironment(jsii.String("IDEMPOTENCY_TABLE"), f.props.Table.Table.TableName(), nil)
			}
			f.AddStream("Clicks", newStream(f), nil)
			addTopic(f)
			NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}})
			NewDashboard(stack, "Dashboard", &DashboardProps{Functions: []*IdempotentFunction{f}})
			deployed := synth(t, stack)
			emits(t, deployed)
			check.Equal(t, len(deployed.Resources(alarmType)) > 15, true)
			board := fmt.Sprint(only(t, deployed, "AWS::CloudWatch::Dashboard").Properties())
			check.Equal(t, strings.Contains(board, "orders:"), false, "the dashboard names the alias or the version")
			check.Equal(t, strings.Contains(board, `"Resource"`), false, "the dashboard has the dimension Resource")
		})
	}
}
