package main

import (
	"os"
	"strings"
	"testing"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/internal/check"
)

// The alarms of template.yaml are what the commands in its comments print.
func TestTemplateHasThePrintedAlarms(t *testing.T) {
	const file = "../../template.yaml"
	text := readText(t, file)
	parts := strings.Split(text, "  # once ")
	s, want := &scene{T: t}, parts[0]
	for _, part := range parts[1:] {
		command, _, _ := strings.Cut(part, "\n")
		want += "  # once " + command + "\n\n" + s.ok(strings.Fields(command)...)
	}
	want += text[strings.Index(text, "\nOutputs:")+1:]
	check.Equal(t, strings.Count(want, "AWS::CloudWatch::Alarm"), 104)
	if want != text && os.Getenv("UPDATE_GOLDEN") == "" {
		t.Error("the alarms of template.yaml differ; UPDATE_GOLDEN=1 rewrites them")
	} else if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Error(err)
	}
}

// The alarm belongs to the function that resumes, which writes its metric in each round.
func TestAlarmOfAResumerRingsWithoutData(t *testing.T) {
	out := (&scene{T: t}).ok("alarms", "--function", "ResumeFunction", "--resumes", "place-order", "--notify", "OnCall")
	hasLines(t, out, "PlaceOrderAbandoned",
		"      Namespace: Once", "      MetricName: OldestAbandoned", `      Dimensions: [{Name: operation, Value: "place-order"}]`, "      Statistic: Maximum",
		"      Period: 1800", "      Threshold: 1800", "      TreatMissingData: breaching", "      AlarmActions: [!Ref OnCall]")
	check.Equal(t, strings.Count(out, "AWS::CloudWatch::Alarm"), 3, "its own, and Errors and Throttles")
}

// A share of less than 1 is not rounded to 0, at which an alarm always rings.
func TestShareOfDuplicatesRingsFromItsThreshold(t *testing.T) {
	s, args := &scene{T: t}, []string{"alarms", "--function", "OrdersFunction", "--operation", "place-order", "--duplicates"}
	for _, threshold := range []string{"60", "0.5"} {
		hasLines(t, s.ok(append(args, threshold)...), "PlaceOrderDuplicates",
			`          Expression: "IF(calls >= 20, 100 * (FILL(replayed, 0) + FILL(conflict, 0)) / calls, 0)"`,
			`              Dimensions: [{Name: operation, Value: "place-order"}]`,
			`              Dimensions: [{Name: operation, Value: "place-order"}, {Name: outcome, Value: conflict}]`,
			`              Dimensions: [{Name: operation, Value: "place-order"}, {Name: outcome, Value: replayed}]`,
			"      Threshold: "+threshold)
	}
	check.Equal(t, s.run(append(args, "101")...).code, cli.CodeUsage)
}

// hasLines checks the lines of an alarm.
func hasLines(t *testing.T, text, id string, lines ...string) {
	t.Helper()
	_, alarm, _ := strings.Cut(text, id+":\n")
	alarm, _, _ = strings.Cut(alarm, "\n\n")
	for _, line := range lines {
		check.Contains(t, "\n"+alarm+"\n", "\n"+line+"\n")
	}
}

// No module can embed files of a different one.
func TestAlarmsAreThoseOfTerraform(t *testing.T) {
	if original := readText(t, "../../infra/terraform/alarms/alarms.json"); string(alarmsJSON) != original {
		t.Error("alarms.json differs from infra/terraform/alarms/alarms.json: copy it")
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	check.Must(t, err)
	return string(text)
}
