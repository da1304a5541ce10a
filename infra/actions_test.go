package infra

import (
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"

	"github.com/lambda-once/once/infra/internal/check"
)

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
