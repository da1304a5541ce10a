package main

import (
	"os"
	"strings"
	"testing"
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
		if code := run(t.Context(), terminal{nil, &out, &said}, strings.Fields(command)); code != 0 {
			t.Fatalf("once %s: exit %d\n%s", command, code, &said)
		}
		want += "  # once " + command + "\n\n" + out.String()
	}
	want += text[strings.Index(text, "\nOutputs:")+1:]
	if n := strings.Count(want, "AWS::CloudWatch::Alarm"); n != 87 {
		t.Errorf("%d alarms", n)
	}
	if want != text && os.Getenv("UPDATE_GOLDEN") == "" {
		t.Error("the alarms of template.yaml differ; UPDATE_GOLDEN=1 rewrites them")
	} else if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Error(err)
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
