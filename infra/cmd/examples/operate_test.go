package main

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/infra/internal/check"
)

const alarmsJSON = "../../terraform/alarms/alarms.json"

// A person who is paged looks for the alarm's name, which begins a line that explains it. The table of
// severities has each alarm once.
func TestPageExplainsEveryAlarm(t *testing.T) {
	type alarm struct{ Name, Severity string }
	var all struct {
		Operation                             []alarm
		Function, Relay, Resume, Share, Sweep map[string]alarm
	}
	check.Must(t, json.Unmarshal([]byte(read(t, alarmsJSON)), &all))
	made, stated, explained := map[string]string{}, map[string]string{}, map[string]bool{}
	for _, a := range all.Operation {
		made[a.Name] = a.Severity
	}
	for _, of := range []map[string]alarm{all.Function, all.Relay, all.Resume, all.Share, all.Sweep} {
		for name, a := range of {
			made[name] = a.Severity
		}
	}
	_, section, _ := strings.Cut(read(t, "../../../docs/operate.md"), "\n## When an alarm fires\n") // without the heading, none is explained
	section, _, _ = strings.Cut(section, "\n## ")
	for _, line := range regexp.MustCompile("(?m)^(?:\\| )?`(\\w+)`").FindAllStringSubmatch(section, -1) {
		explained[line[1]] = true
	}
	for _, row := range regexp.MustCompile("(?m)^\\| (page|ticket) \\| `(.*)` \\|$").FindAllStringSubmatch(section, -1) {
		for name := range strings.SplitSeq(row[2], "`, `") {
			check.Equal(t, stated[name], "", name, "listed twice")
			stated[name] = row[1]
		}
	}
	check.Equal(t, stated, made)
	check.Equal(t, slices.Sorted(maps.Keys(explained)), slices.Sorted(maps.Keys(made)))
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
