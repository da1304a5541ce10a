package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

func (o *alarmFlags) ofOperations() {
	for _, operation := range o.operations {
		value := fmt.Sprintf("%q", operation)
		for _, a := range o.catalog.Operation {
			a.Namespace, a.Statistic, a.Dimension = "Once", "Sum", "operation"
			if a.Expression != "" {
				a.Metrics = []metric{ofCalls("calls", value, ""), ofCalls("conflict", value, "conflict")}
			}
			o.add(a, "operation", operation, value)
		}
		if a := o.catalog.Share["Duplicates"]; o.duplicates > 0 {
			a.Name, a.Threshold = "Duplicates", o.duplicates
			a.Metrics = []metric{ofCalls("calls", value, ""), ofCalls("conflict", value, "conflict"), ofCalls("replayed", value, "replayed")}
			o.add(a, "operation", operation, value)
		}
	}
}

func (o *alarmFlags) ofFunction() {
	kind, all := "function", o.catalog.Function
	if o.relay {
		kind = "relay"
		maps.Copy(all, o.catalog.Relay)
	}
	name := cmp.Or(strings.TrimSuffix(o.function, "Function"), o.function)
	of := func(wanted bool, alarm, value string) {
		if a := all[alarm]; wanted {
			a.Name = alarm
			o.add(a, kind, name, value)
		}
	}
	function := "!Ref " + o.function
	all["Silent"] = o.silent(function)
	of(true, "Errors", function)
	of(true, "Throttles", function)
	of(len(o.operations) > 0 && len(o.operations) <= 8, "Silent", function) // an alarm compares ten metrics
	of(o.api != "", "ServerErrors", "!Ref "+o.api)
	all["URLErrors"] = ofURL(all["ServerErrors"])
	of(o.url, "URLErrors", function)
	of(o.deadLetters != "", "DeadLetters", "!GetAtt "+o.deadLetters+".QueueName")
	of(o.queue != "", "QueueAge", "!GetAtt "+o.queue+".QueueName")
	of(o.failures != "", "Failures", "!GetAtt "+o.failures+".QueueName")
	of(o.stream || o.relay, "IteratorAge", function)
}

// ofURL returns the alarm of an API for a function URL.
func ofURL(a alarm) alarm {
	a.Advice = strings.Replace(a.Advice, "the API", "the URL", 1)
	a.Namespace, a.Metric, a.Dimension = "AWS/Lambda", "Url5xxCount", "FunctionName"
	return a
}

func (o *alarmFlags) silent(function string) alarm {
	a := o.catalog.Function["Silent"]
	var terms []string
	for i, operation := range o.operations {
		id := "calls"
		if i > 0 {
			id = fmt.Sprint(id, i+1)
		}
		terms = append(terms, "FILL("+id+", 0)")
		a.Metrics = append(a.Metrics, ofCalls(id, fmt.Sprintf("%q", operation), ""))
	}
	a.Expression = fmt.Sprintf(a.Expression, strings.Join(terms, " + "))
	for _, name := range []string{"Errors", "Invocations"} {
		a.Metrics = append(a.Metrics, metric{strings.ToLower(name), "AWS/Lambda", name, "FunctionName", function, ""})
	}
	return a
}

func ofCalls(id, operation, outcome string) metric {
	return metric{id, "Once", "Calls", "operation", operation, outcome}
}

var separators = regexp.MustCompile(`[^A-Za-z0-9]+`)

func (o *alarmFlags) add(a alarm, kind, name, value string) {
	for _, word := range separators.Split(name, -1) {
		if word != "" {
			a.ID += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	a.ID += a.Name
	taken := []string{o.function, o.api, o.queue, o.deadLetters, o.failures}
	for _, made := range o.made {
		taken = append(taken, made.ID)
	}
	for slices.Contains(taken, a.ID) {
		a.ID += "Alarm"
	}
	a.Value, a.Actions = value, slices.Concat(o.notify, map[string][]string{"page": o.page, "ticket": o.ticket}[a.Severity])
	a.Description = fmt.Sprintf("%s: %s Severity: %s. %s%s", name, a.Advice, a.Severity, o.catalog.Documentation, cmp.Or(a.Page, o.catalog.Pages[kind]))
	o.made = append(o.made, a)
}

var samTemplate = template.Must(template.New("sam").Parse(`
{{- define "dimensions"}}[{Name: {{.Dimension}}, Value: {{.Value}}}{{if .Outcome}}, {Name: outcome, Value: {{.Outcome}}}{{end}}]{{end}}
{{- define "refs"}}[{{range $i, $topic := .}}{{if $i}}, {{end}}!Ref {{$topic}}{{end}}]{{end}}
{{- range .}}{{"  "}}{{.ID}}:
    Type: AWS::CloudWatch::Alarm
    Properties:
      AlarmDescription: {{printf "%q" .Description}}
{{- if .Expression}}
      Metrics:
        - Id: expr_1
          Expression: {{printf "%q" .Expression}}
          Label: {{.Label}}
          ReturnData: true
{{- $period := .Seconds}}
{{- range .Metrics}}
        - Id: {{.ID}}
          MetricStat:
            Metric:
              Namespace: {{.Namespace}}
              MetricName: {{.Name}}
              Dimensions: {{template "dimensions" .}}
            Period: {{$period}}
            Stat: Sum
          ReturnData: false
{{- end}}
{{- else}}
      Namespace: {{.Namespace}}
      MetricName: {{.Metric}}
      Dimensions: {{template "dimensions" .}}
      Statistic: {{.Statistic}}
      Period: {{.Seconds}}
{{- end}}
{{- if .Hours}}
      DatapointsToAlarm: {{.Hours}} # hours of a day
      EvaluationPeriods: 24
{{- else}}
      EvaluationPeriods: 1
{{- end}}
      ComparisonOperator: GreaterThanOrEqualToThreshold
      Threshold: {{.Limit}}
      TreatMissingData: {{or .Missing "notBreaching"}}
{{- if .Actions}}
      AlarmActions: {{template "refs" .Actions}}
      OKActions: {{template "refs" .Actions}}
{{- end}}

{{end}}`))
