package main

import (
	"os"
	"strings"
	"testing"

	"github.com/lambda-once/once/cmd/once/internal/cli"
)

// The alarms of template.yaml are what the commands in its comments print.
func TestTemplateHasThePrintedAlarms(t *testing.T) {
	const file = "../../template.yaml"
	text := readText(t, file)
	parts := strings.Split(text, "  # once ")
	want := parts[0]
	for _, part := range parts[1:] {
		command, _, _ := strings.Cut(part, "\n")
		var out, said strings.Builder
		if code := run(t.Context(), cli.Terminal{Out: &out, Err: &said}, strings.Fields(command)); code != 0 {
			t.Fatalf("once %s: exit %d\n%s", command, code, &said)
		}
		want += "  # once " + command + "\n\n" + out.String()
	}
	want += text[strings.Index(text, "\nOutputs:")+1:]
	if n := strings.Count(want, "AWS::CloudWatch::Alarm"); n != 104 {
		t.Errorf("%d alarms", n)
	}
	if want != text && os.Getenv("UPDATE_GOLDEN") == "" {
		t.Error("the alarms of template.yaml differ; UPDATE_GOLDEN=1 rewrites them")
	} else if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Error(err)
	}
}

// The alarm belongs to the function that resumes, which writes its metric in each round.
func TestAlarmOfAResumerRingsWithoutData(t *testing.T) {
	var out, said strings.Builder
	if code := run(t.Context(), cli.Terminal{Out: &out, Err: &said}, []string{"alarms", "--function", "ResumeFunction", "--resumes", "place-order", "--notify", "OnCall"}); code != 0 {
		t.Fatalf("exit %d\n%s", code, &said)
	}
	_, alarm, _ := strings.Cut(out.String(), "PlaceOrderAbandoned:\n")
	alarm, _, _ = strings.Cut(alarm, "\n\n")
	for _, line := range []string{
		"      Namespace: Once", "      MetricName: OldestAbandoned", `      Dimensions: [{Name: operation, Value: "place-order"}]`, "      Statistic: Maximum",
		"      Period: 1800", "      Threshold: 1800", "      TreatMissingData: breaching", "      AlarmActions: [!Ref OnCall]",
	} {
		if !strings.Contains("\n"+alarm+"\n", "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, alarm)
		}
	}
	if n := strings.Count(out.String(), "AWS::CloudWatch::Alarm"); n != 3 { // its own, and Errors and Throttles
		t.Errorf("%d alarms", n)
	}
}

func TestShareOfDuplicatesRingsFromItsThreshold(t *testing.T) {
	var out, said strings.Builder
	args := []string{"alarms", "--function", "OrdersFunction", "--operation", "place-order", "--duplicates", "60"}
	if code := run(t.Context(), cli.Terminal{Out: &out, Err: &said}, args); code != 0 {
		t.Fatalf("exit %d\n%s", code, &said)
	}
	_, alarm, _ := strings.Cut(out.String(), "PlaceOrderDuplicates:\n")
	alarm, _, _ = strings.Cut(alarm, "\n\n")
	for _, line := range []string{
		`          Expression: "IF(calls >= 20, 100 * (FILL(replayed, 0) + FILL(conflict, 0)) / calls, 0)"`,
		`              Dimensions: [{Name: operation, Value: "place-order"}]`,
		`              Dimensions: [{Name: operation, Value: "place-order"}, {Name: outcome, Value: conflict}]`,
		`              Dimensions: [{Name: operation, Value: "place-order"}, {Name: outcome, Value: replayed}]`,
		"      Threshold: 60",
	} {
		if !strings.Contains("\n"+alarm+"\n", "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, alarm)
		}
	}
	if code := run(t.Context(), cli.Terminal{Out: &out, Err: &said}, append(args[:5:5], "--duplicates", "101")); code != cli.CodeUsage {
		t.Errorf("exit %d", code)
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
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
