package infra

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/appcheck"
)

// alarmsJSON is read by Terraform, too, and cmd/once has a copy.
//
//go:embed terraform/alarms/alarms.json
var alarmsJSON []byte

// An entry describes an alarm.
type entry struct {
	Name, Severity, Page, Advice            string
	Namespace, Metric, Statistic, Dimension string
	Outcome, Expression, Label              string
	Graph                                   string // its title; signals with one title share it
	Missing                                 string // "breaching" rings without data
	Threshold                               float64
	Setting                                 string  // the name of the threshold in AlarmsProps
	Hours                                   float64 // of a day in which the metric reaches the threshold; 0 for 5 min
}

// catalog describes the alarms, the outcomes and the reasons of refusals.
var catalog = func() (c struct {
	Documentation               string
	Pages                       map[string]string
	Outcomes, Alarming, Reasons []string
	Operation                   []entry
	Function, Relay, Sweep      map[string]entry
	Share                       map[string]entry // of an operation, with a threshold alone
	Resume                      map[string]entry

	settings []string
}) {
	if err := json.Unmarshal(alarmsJSON, &c); err != nil {
		panic(err) // of this package, not of its callers
	}
	for i, o := range c.Operation {
		c.Operation[i].Page = cmp.Or(o.Page, c.Pages["operation"])
		c.settings = append(c.settings, o.Setting)
	}
	for kind, all := range map[string]map[string]entry{"function": c.Function, "operation": c.Share, "relay": c.Relay, "resume": c.Resume, "sweep": c.Sweep} {
		for name, one := range all {
			one.Name, one.Page = name, cmp.Or(one.Page, c.Pages[kind], c.Pages["function"])
			all[name] = one
			c.settings = append(c.settings, one.Setting)
		}
	}
	slices.Sort(c.settings)
	c.settings = slices.Compact(c.settings)[1:] // most have none
	return c
}()

// A signal is a metric of an operation, of a function or of one of its event sources,
// with the alarm on it and its graph. Those of sources are found in the app, so that
// alarms.go and dashboard.go know none of them.
type signal struct {
	entry
	of     string // the source, if it is one
	metric awscloudwatch.IMetric
	end    time.Duration // the age at which what waits disappears; 0: unknown
}

// key identifies the alarm of a source.
func (s *signal) key() string { return strings.TrimSpace(s.of + " " + s.Name) }

// description advises the operator, and states the severity and the page.
func (s *signal) description() string {
	return s.Advice + " Severity: " + s.Severity + ". " + catalog.Documentation + s.Page
}

// unit is that of an age in the metric.
func (s *signal) unit() float64 {
	if s.Metric == "IteratorAge" {
		return 1000 // ms
	}
	return 1
}

// threshold is the prop, or the usual one, and at most half of the age at which what waits
// disappears.
func (s *signal) threshold(p *AlarmsProps) float64 {
	if own, set := p.Thresholds[s.Setting]; set {
		return own * s.unit()
	}
	if s.end > 0 {
		return min(s.Threshold, s.end.Seconds()/2*s.unit())
	}
	return s.Threshold
}

// watched returns the signals of the function and of its sources.
func (f *IdempotentFunction) watched(a *appcheck.App) []signal {
	return append(invocations(f.Function), f.sourced(a)...)
}

// silence returns the signal of a function that runs, and whose operations write no
// metrics. Single hours prove nothing: Lambda counts an invocation when it began, and a
// call is counted when it ended.
func (f *IdempotentFunction) silence() []signal {
	operations := f.operations()
	if f.props.NoMetrics || len(operations) == 0 || len(operations) > 8 { // an alarm compares ten metrics
		return nil
	}
	var called []string
	metrics := map[string]awscloudwatch.IMetric{"errors": lambdaMetric(f.Function, "Errors", "Sum"), "invocations": lambdaMetric(f.Function, "Invocations", "Sum")}
	for i, operation := range operations {
		id := "calls" + suffix(i)
		metrics[id] = sum("Calls", operation)
		called = append(called, "FILL("+id+", 0)")
	}
	silent := catalog.Function["Silent"]
	text := fmt.Sprintf(silent.Expression, strings.Join(called, " + "))
	return []signal{{entry: silent, metric: expression(text, silent.Label, awscdk.Duration_Hours(jsii.Number(1)), metrics)}}
}

func (r *Relay) watched() []signal {
	age := ofFunction(r.Function, catalog.Relay["IteratorAge"])
	age.end = r.maxAge
	all := invocations(r.Function)
	for i := range all {
		all[i].Page = catalog.Pages["relay"]
	}
	return append(all, ofSource(catalog.Relay["Failures"], "", r.Failures.QueueName()), age)
}

func invocations(function awslambda.IFunction) []signal {
	return []signal{ofFunction(function, catalog.Function["Errors"]), ofFunction(function, catalog.Function["Throttles"])}
}

// ofFunction returns a signal on a metric of Lambda.
func ofFunction(function awslambda.IFunction, e entry) signal {
	return signal{entry: e, metric: lambdaMetric(function, e.Metric, e.Statistic)}
}

// ofSource returns a signal on a metric of AWS with one dimension.
func ofSource(e entry, path string, value *string) signal {
	return signal{entry: e, of: path, metric: ofAWS(e.Namespace, e.Metric, e.Statistic, e.Dimension, value)}
}

// suffix returns a number for all but the first, so that the alarms of the first
// stay the same when more are added.
func suffix(i int) string {
	if i == 0 {
		return ""
	}
	return fmt.Sprint(i + 1)
}
