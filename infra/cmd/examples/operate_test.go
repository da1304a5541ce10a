package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A person who is paged looks for the alarm's name.
func TestPageExplainsEveryAlarm(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "../../../docs/operate.md"), "\n## When an alarm rings\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var names []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(section, -1) {
		for _, name := range strings.Split(row[1], ", ") {
			names = append(names, strings.Trim(name, "`"))
		}
	}
	alarms := cdk(t).IDs("AWS::CloudWatch::Alarm")
	if len(alarms) < 20 {
		t.Fatalf("%d alarms", len(alarms))
	}
	for _, alarm := range alarms {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(alarm, name) }) {
			t.Errorf("docs/operate.md does not explain %s", alarm)
		}
	}
	made := read(t, "../../alarms.go") + read(t, "../../signals.go")
	for _, name := range names {
		if !strings.Contains(made, `"`+name+`"`) {
			t.Errorf("docs/operate.md explains %s, which is no alarm", name)
		}
	}
}
