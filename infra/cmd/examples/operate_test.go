package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/infra/internal/check"
)

const alarmsJSON = "../../terraform/alarms/alarms.json"

// A person who is paged looks for the alarm's name.
func TestPageExplainsEveryAlarm(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "../../../docs/operate.md"), "\n## When an alarm fires\n")
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
	made := read(t, alarmsJSON)
	for _, name := range names {
		if !strings.Contains(made, `"`+name+`"`) {
			t.Errorf("docs/operate.md explains %s, which is no alarm", name)
		}
	}
}

// The table of severities has each alarm once, with the severity in its description.
func TestPageStatesTheSeverityOfEveryAlarm(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "../../../docs/operate.md"), "\n### Severities\n") // without the heading, no alarm is stated
	section, _, _ = strings.Cut(section, "\n### ")
	stated := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (page|ticket) \\| (`.*?) \\|").FindAllStringSubmatch(section, -1) {
		for _, name := range strings.Split(row[2], ", ") {
			name = strings.Trim(name, "`")
			check.Equal(t, stated[name], "", name, "listed twice")
			stated[name] = row[1]
		}
	}
	made := map[string]string{}
	for id, alarm := range cdk(t).Resources("AWS::CloudWatch::Alarm") {
		for name := range stated {
			if strings.HasSuffix(id, name) && !strings.HasSuffix(id, "Store"+name) {
				made[name] = regexp.MustCompile(`Severity: (\w+)\.`).FindStringSubmatch(alarm.Properties()["AlarmDescription"].(string))[1]
			}
		}
	}
	// The app has no asynchronous source, no topic and no resumer.
	made["Undelivered"], made["OffsetLag"], made["Abandoned"] = "page", "page", "page"
	check.Equal(t, stated, made)
}

// The link of an alarm leads to a heading that exists, at the release of the modules.
func TestAlarmsLinkToHeadings(t *testing.T) {
	version := regexp.MustCompile(`/once (v\S+) => \.\n`).FindStringSubmatch(read(t, "../../../go.work"))[1]
	declared := regexp.MustCompile(`: "(\w+\.md#[\w-]+)"`).FindAllStringSubmatch(read(t, alarmsJSON), -1)
	var links []string
	for _, d := range declared {
		links = append(links, "https://github.com/lambda-once/once/blob/"+version+"/docs/"+d[1])
		page, heading, _ := strings.Cut(d[1], "#") // without one, the empty heading is refused
		check.Equal(t, slices.Contains(headings(read(t, "../../../docs/"+page)), heading), true, d[1], "is a heading")
	}
	for id, alarm := range cdk(t).Resources("AWS::CloudWatch::Alarm") {
		description := alarm.Properties()["AlarmDescription"].(string)
		check.Equal(t, slices.Contains(links, description[strings.LastIndex(description, " ")+1:]), true, id, description)
	}
}

// headings returns the anchors that GitHub makes of a page's headings.
func headings(page string) (anchors []string) {
	for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		anchors = append(anchors, strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
	}
	return anchors
}
