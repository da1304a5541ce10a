package template

import (
	"fmt"
	"slices"
	"strings"
)

// A metric that AWS or package emf writes: its statistic in our alarms, and its sets of
// dimensions. A set with an alias or a version exists beside that of the function, and names
// it in the dimension Resource.
type metric struct {
	statistic  string
	dimensions []string
}

// emitted are the metrics of our alarms, after the pages of AWS on the metrics of each
// service. An alarm on any other name or dimension never rings.
var emitted = map[string]metric{
	"AWS/ApiGateway 5XXError":                      {"Sum", []string{"ApiName"}},
	"AWS/ApiGateway 5xx":                           {"Sum", []string{"ApiId"}},
	"AWS/ApplicationELB HTTPCode_Target_5XX_Count": {"Sum", []string{"LoadBalancer TargetGroup"}},
	"AWS/ApplicationELB LambdaUserError":           {"Sum", []string{"LoadBalancer TargetGroup"}},
	"AWS/Lambda AsyncEventsDropped":                {"Sum", []string{"FunctionName"}},
	"AWS/Lambda DeadLetterErrors":                  {"Sum", []string{"FunctionName"}},
	"AWS/Lambda DestinationDeliveryFailures":       {"Sum", []string{"FunctionName"}},
	"AWS/Lambda Errors":                            {"Sum", []string{"FunctionName"}},
	"AWS/Lambda Invocations":                       {"Sum", []string{"FunctionName"}},
	"AWS/Lambda IteratorAge":                       {"Maximum", []string{"FunctionName"}},
	"AWS/Lambda OffsetLag":                         {"Maximum", []string{"FunctionName"}},
	"AWS/Lambda Throttles":                         {"Sum", []string{"FunctionName"}},
	"AWS/Lambda Url5xxCount":                       {"Sum", []string{"FunctionName"}},
	"AWS/SQS ApproximateAgeOfOldestMessage":        {"Maximum", []string{"QueueName"}},
	"AWS/SQS ApproximateNumberOfMessagesVisible":   {"Maximum", []string{"QueueName"}},
	"Once Calls":                                   {"Sum", []string{"operation", "operation outcome"}},
	"Once LapsedLeases":                            {"Sum", []string{"operation"}},
	"Once Refused":                                 {"Sum", []string{"operation"}},
	"Once StoreErrors":                             {"Sum", []string{"operation"}},
	"Once StoreThrottles":                          {"Sum", []string{"operation"}},
}

// named are the types of the resources whose name is the value of a dimension.
var named = map[string][]string{
	"ApiId":        {"AWS::ApiGatewayV2::Api", "AWS::Serverless::HttpApi"},
	"FunctionName": {"AWS::Lambda::Function", "AWS::Serverless::Function"},
	"QueueName":    {"AWS::SQS::Queue"},
}

// A Reading is a metric that an alarm reads.
type Reading struct {
	Metric     string // the namespace and the name
	Statistic  any
	Period     float64
	Dimensions map[string]any
}

// Readings returns the metrics that an alarm reads.
func (r Resource) Readings() (all []Reading) {
	add := func(metric, settings any, statistic string) {
		of := map[string]any{}
		for _, d := range list(at(metric, "Dimensions")) {
			of[fmt.Sprint(at(d, "Name"))] = at(d, "Value")
		}
		name := fmt.Sprint(at(metric, "Namespace"), " ", at(metric, "MetricName"))
		all = append(all, Reading{Metric: name, Statistic: at(settings, statistic), Period: number(at(settings, "Period")), Dimensions: of})
	}
	if r.at("MetricName") != nil {
		add(r["Properties"], r["Properties"], "Statistic")
	}
	for _, m := range list(r.at("Metrics")) {
		if stat := at(m, "MetricStat"); stat != nil {
			add(at(stat, "Metric"), stat, "Stat")
		}
	}
	return all
}

func (c *checker) readings() {
	for id, alarm := range c.Resources("AWS::CloudWatch::Alarm") {
		readings := alarm.Readings()
		if len(readings) == 0 {
			c.say("%s reads no metric", id)
		}
		for _, r := range readings {
			known := emitted[r.Metric]
			var names []string
			for name, value := range r.Dimensions {
				names = append(names, name)
				kind := fmt.Sprint(c.Resources()[target(value)]["Type"])
				if target(value) != "" && named[name] != nil && kind != "<nil>" && !slices.Contains(named[name], kind) {
					c.say("%s: the %s is that of a %s", id, name, kind)
				}
				if text, literal := value.(string); literal && name == "FunctionName" && strings.Contains(text, ":") {
					c.say("%s: AWS writes no metrics with the FunctionName %s", id, text)
				}
			}
			slices.Sort(names)
			if !slices.Contains(known.dimensions, strings.Join(names, " ")) || r.Statistic != known.statistic {
				c.say("%s: nobody writes %s as the %v by %v", id, r.Metric, r.Statistic, names)
			}
		}
	}
}
