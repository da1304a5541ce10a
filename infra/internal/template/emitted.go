package template

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// emitted are the metrics that alarms may read, with statistic and dimensions. An alarm on
// anything else never rings. Those of AWS are as its pages, or the CDK's own metrics, name
// them; no page names a dimension of OffsetLag.
var emitted = []string{
	"AWS/ApiGateway 5XXError Sum [ApiName]", "AWS/ApiGateway 5xx Sum [ApiId]",
	"AWS/ApplicationELB HTTPCode_Target_5XX_Count Sum [LoadBalancer TargetGroup]", "AWS/ApplicationELB LambdaUserError Sum [LoadBalancer TargetGroup]",
	"AWS/Lambda AsyncEventsDropped Sum [FunctionName]", "AWS/Lambda DeadLetterErrors Sum [FunctionName]",
	"AWS/Lambda DestinationDeliveryFailures Sum [FunctionName]", "AWS/Lambda Errors Sum [FunctionName]", "AWS/Lambda Invocations Sum [FunctionName]",
	"AWS/Lambda IteratorAge Maximum [FunctionName]", "AWS/Lambda OffsetLag Maximum [FunctionName]", "AWS/Lambda Throttles Sum [FunctionName]",
	"AWS/Lambda Url5xxCount Sum [FunctionName]",
	"AWS/SQS ApproximateAgeOfOldestMessage Maximum [QueueName]", "AWS/SQS ApproximateNumberOfMessagesVisible Maximum [QueueName]",
	"Once Calls Sum [operation]", "Once Calls Sum [operation outcome]", "Once LapsedLeases Sum [operation]",
	"Once OldestAbandoned Maximum [operation]", "Once Refused Sum [operation]", "Once StoreErrors Sum [operation]", "Once StoreThrottles Sum [operation]",
}

// named are the types of the resources whose name is the value of a dimension.
var named = map[string]string{
	"ApiId": "AWS::ApiGatewayV2::Api AWS::Serverless::HttpApi", "FunctionName": "AWS::Lambda::Function AWS::Serverless::Function", "QueueName": "AWS::SQS::Queue",
}

// A Reading is a metric that an alarm reads.
type Reading struct {
	Metric     string // the namespace and the name
	Statistic  any
	Period     any
	Dimensions map[string]any
}

// Readings returns the metrics that an alarm reads, alone or in an expression.
func (r Resource) Readings() (all []Reading) {
	for _, m := range append(list(r.at("Metrics")), r["Properties"]) {
		settings := cmp.Or(at(m, "MetricStat"), m)
		metric := cmp.Or(at(settings, "Metric"), m)
		if at(metric, "MetricName") == nil {
			continue // an expression
		}
		of := map[string]any{}
		for _, d := range list(at(metric, "Dimensions")) {
			of[fmt.Sprint(at(d, "Name"))] = at(d, "Value")
		}
		name := fmt.Sprint(at(metric, "Namespace"), " ", at(metric, "MetricName"))
		all = append(all, Reading{name, cmp.Or(at(settings, "Stat"), at(settings, "Statistic")), at(settings, "Period"), of})
	}
	return all
}

// Unwritten returns the metrics of alarms that neither AWS nor a function writes, such as those
// of an alias.
func (t Template) Unwritten() (found []string) {
	for id, alarm := range t.Resources("AWS::CloudWatch::Alarm") {
		for _, r := range alarm.Readings() {
			if text := fmt.Sprint(r.Metric, " ", r.Statistic, " ", slices.Sorted(maps.Keys(r.Dimensions))); !slices.Contains(emitted, text) {
				found = append(found, id+" reads "+text)
			}
			for name, value := range r.Dimensions {
				kind, known := t.Resources()[target(value)]["Type"].(string)
				text, _ := value.(string)
				if known && named[name] != "" && !strings.Contains(named[name], kind) || name == "FunctionName" && strings.Contains(text, ":") {
					found = append(found, fmt.Sprintf("%s reads of the %s %v", id, name, value))
				}
			}
		}
	}
	return found
}
