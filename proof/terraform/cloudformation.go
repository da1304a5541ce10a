package terraform

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// A kind says how CloudFormation names a type of resource and its arguments. A name with
// "[]" has a list in place of one value, one with "{}" a value in place of JSON, and an
// argument with "" is left out: names, which CloudFormation generates, tags, and settings of
// Terraform itself.
type kind struct {
	name       string
	properties map[string]string
}

var kinds = map[string]kind{
	"aws_apigatewayv2_api": {"AWS::ApiGatewayV2::Api", map[string]string{"name": "Name", "protocol_type": "ProtocolType"}},
	"aws_apigatewayv2_integration": {"AWS::ApiGatewayV2::Integration", map[string]string{
		"api_id": "ApiId", "integration_type": "IntegrationType", "integration_uri": "IntegrationUri", "payload_format_version": "PayloadFormatVersion",
	}},
	"aws_apigatewayv2_route": {"AWS::ApiGatewayV2::Route", map[string]string{"api_id": "ApiId", "route_key": "RouteKey", "target": "Target"}},
	"aws_apigatewayv2_stage": {"AWS::ApiGatewayV2::Stage", map[string]string{
		"access_log_settings.destination_arn": "AccessLogSettings.DestinationArn", "access_log_settings.format": "AccessLogSettings.Format",
		"api_id": "ApiId", "auto_deploy": "AutoDeploy", "name": "StageName",
		"default_route_settings.throttling_burst_limit": "DefaultRouteSettings.ThrottlingBurstLimit",
		"default_route_settings.throttling_rate_limit":  "DefaultRouteSettings.ThrottlingRateLimit",
	}},
	"aws_cloudwatch_dashboard": {"AWS::CloudWatch::Dashboard", map[string]string{"dashboard_body": "{}DashboardBody", "dashboard_name": ""}},
	"aws_cloudwatch_log_group": {"AWS::Logs::LogGroup", map[string]string{"name": "", "retention_in_days": "RetentionInDays", "skip_destroy": "", "tags": ""}},
	"aws_cloudwatch_metric_alarm": {"AWS::CloudWatch::Alarm", map[string]string{
		"alarm_actions": "AlarmActions", "alarm_description": "AlarmDescription", "alarm_name": "AlarmName", "comparison_operator": "ComparisonOperator",
		"datapoints_to_alarm": "DatapointsToAlarm", "dimensions": "Dimensions", "evaluation_periods": "EvaluationPeriods", "metric_name": "MetricName", "namespace": "Namespace",
		"ok_actions": "OKActions", "period": "Period", "statistic": "Statistic", "tags": "", "threshold": "Threshold", "treat_missing_data": "TreatMissingData",
		"metric_query": "Metrics", "metric_query.expression": "Expression", "metric_query.id": "Id", "metric_query.label": "Label", "metric_query.return_data": "ReturnData",
		"metric_query.metric.dimensions": "MetricStat.Metric.Dimensions", "metric_query.metric.metric_name": "MetricStat.Metric.MetricName",
		"metric_query.metric.namespace": "MetricStat.Metric.Namespace", "metric_query.metric.period": "MetricStat.Period", "metric_query.metric.stat": "MetricStat.Stat",
	}},
	"aws_dynamodb_table": {"AWS::DynamoDB::GlobalTable", map[string]string{
		"attribute": "AttributeDefinitions", "attribute.name": "AttributeName", "attribute.type": "AttributeType", "billing_mode": "BillingMode",
		"deletion_protection_enabled": "Replica.DeletionProtectionEnabled", "hash_key": "HASH", "name": "",
		"point_in_time_recovery.enabled": "Replica.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled", "range_key": "RANGE",
		"server_side_encryption.enabled": "SSESpecification.SSEEnabled", "server_side_encryption.kms_key_arn": "Replica.SSESpecification.KMSMasterKeyId",
		"tags": "", "ttl.attribute_name": "TimeToLiveSpecification.AttributeName", "ttl.enabled": "TimeToLiveSpecification.Enabled",
	}},
	"aws_iam_role":        {"AWS::IAM::Role", map[string]string{"assume_role_policy": "{}AssumeRolePolicyDocument", "name": "", "tags": ""}},
	"aws_iam_role_policy": {"AWS::IAM::Policy", map[string]string{"name": "PolicyName", "policy": "{}PolicyDocument", "role": "[]Roles"}},
	"aws_lambda_event_source_mapping": {"AWS::Lambda::EventSourceMapping", map[string]string{
		"batch_size": "BatchSize", "event_source_arn": "EventSourceArn", "function_name": "FunctionName", "function_response_types": "FunctionResponseTypes",
		"maximum_batching_window_in_seconds": "MaximumBatchingWindowInSeconds", "scaling_config.maximum_concurrency": "ScalingConfig.MaximumConcurrency", "tags": "",
	}},
	"aws_lambda_function": {"AWS::Lambda::Function", map[string]string{
		"architectures": "Architectures", "environment.variables": "Environment.Variables", "filename": "", "function_name": "", "handler": "Handler",
		"logging_config.log_format": "LoggingConfig.LogFormat", "logging_config.log_group": "LoggingConfig.LogGroup", "memory_size": "MemorySize",
		"role": "Role", "runtime": "Runtime", "source_code_hash": "", "tags": "", "timeout": "Timeout",
	}},
	"aws_lambda_permission": {"AWS::Lambda::Permission", map[string]string{
		"action": "Action", "function_name": "FunctionName", "principal": "Principal", "source_arn": "SourceArn",
	}},
	"aws_sns_topic":        {"AWS::SNS::Topic", map[string]string{"name": ""}},
	"aws_sns_topic_policy": {"AWS::SNS::TopicPolicy", map[string]string{"arn": "[]Topics", "policy": "{}PolicyDocument"}},
	"aws_sqs_queue": {"AWS::SQS::Queue", map[string]string{
		"fifo_queue": "FifoQueue", "message_retention_seconds": "MessageRetentionPeriod", "name": "", "redrive_policy": "{}RedrivePolicy", "tags": "",
		"visibility_timeout_seconds": "VisibilityTimeout",
	}},
	"aws_sqs_queue_policy": {"AWS::SQS::QueuePolicy", map[string]string{"policy": "{}PolicyDocument", "queue_url": "[]Queues"}},
}

// CloudFormation writes the resources as a template, whose logical ids are their addresses.
// A resource that Terraform does not destroy has the policies Retain. A policy of a queue has the fate
// of the queue, because Terraform refuses a plan as a whole.
func (c *Configuration) CloudFormation() (map[string]any, error) {
	resources, kept := map[string]any{}, c.kept()
	for _, r := range c.Resources {
		if r.data || r.Type == "terraform_data" {
			continue
		}
		known, ok := kinds[r.Type]
		if !ok {
			return nil, fmt.Errorf("%s: the type is not in kinds", r.Address)
		}
		properties := map[string]any{}
		if err := known.write(properties, "", r.Body); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Address, err)
		}
		if r.Type == "aws_dynamodb_table" {
			asGlobalTable(properties)
		}
		written := map[string]any{"Type": known.name, "Properties": properties}
		if kept[r.Address] || r.isTrue("skip_destroy") || r.isTrue("deletion_protection_enabled") {
			written["DeletionPolicy"], written["UpdateReplacePolicy"] = "Retain", "Retain"
		}
		resources[r.Address] = written
	}
	for _, r := range resources {
		r := r.(map[string]any)
		if queues, ok := r["Properties"].(map[string]any)["Queues"].([]any); ok {
			queue, _ := queues[0].(map[string]any)["Ref"].(string) // a policy of no queue stays without a fate
			for _, fate := range []string{"DeletionPolicy", "UpdateReplacePolicy"} {
				if of, ok := resources[queue].(map[string]any); ok && of[fate] != nil {
					r[fate] = of[fate]
				}
			}
		}
	}
	outputs := map[string]any{}
	for name, v := range c.Outputs {
		value, err := plain(v)
		if err != nil {
			return nil, err
		}
		outputs[name] = map[string]any{"Value": value}
	}
	return map[string]any{"Resources": resources, "Outputs": outputs}, nil
}

// kept returns the addresses of resources that a plan cannot destroy: they have
// prevent_destroy, or a terraform_data that has it is replaced with them.
func (c *Configuration) kept() map[string]bool {
	all := map[string]bool{}
	for _, r := range c.Resources {
		all[r.Address] = all[r.Address] || r.prevented
		if of, ok := r.Body.Attributes["triggers_replace"]; ok && r.prevented {
			for _, m := range reference.FindAllStringSubmatch(of.AsString(), -1) {
				all[m[1]] = true
			}
		}
	}
	return all
}

func (r *Resource) isTrue(name string) bool {
	v, ok := r.Body.Attributes[name]
	return ok && v.Type() == cty.Bool && v.True()
}

// write writes the arguments of a body, whose names begin with prefix, into properties.
func (k kind) write(properties map[string]any, prefix string, b Body) error {
	for name, v := range b.Attributes {
		property, ok := k.properties[prefix+name]
		if !ok {
			return fmt.Errorf("the argument %s%s is not in kinds", prefix, name)
		}
		if property == "" {
			continue
		}
		value, err := plain(v)
		if err != nil {
			return err
		}
		if rest, ok := strings.CutPrefix(property, "[]"); ok {
			property, value = rest, []any{value}
		}
		if rest, ok := strings.CutPrefix(property, "{}"); ok {
			property = rest
			var decoded any
			if err := json.Unmarshal([]byte(v.AsString()), &decoded); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			value = referred(decoded)
		}
		if strings.HasSuffix(property, "Dimensions") {
			value = asDimensions(value)
		}
		set(properties, property, value)
	}
	for name, blocks := range b.Blocks {
		list := []any{}
		for _, inner := range blocks {
			into := properties
			if k.properties[prefix+name] != "" { // one of several blocks
				into = map[string]any{}
				list = append(list, into)
			}
			if err := k.write(into, prefix+name+".", inner); err != nil {
				return err
			}
		}
		if property := k.properties[prefix+name]; property != "" {
			properties[property] = list
		}
	}
	return nil
}

// set sets a property at a path of names.
func set(properties map[string]any, path string, value any) {
	name, rest, nested := strings.Cut(path, ".")
	if !nested {
		properties[name] = value
		return
	}
	if properties[name] == nil {
		properties[name] = map[string]any{}
	}
	set(properties[name].(map[string]any), rest, value)
}

// asGlobalTable moves the properties that CloudFormation has elsewhere in a table of one or more Regions.
func asGlobalTable(properties map[string]any) {
	keys := []any{}
	for _, role := range []string{"HASH", "RANGE"} {
		if name, ok := properties[role]; ok {
			keys = append(keys, map[string]any{"AttributeName": name, "KeyType": role})
			delete(properties, role)
		}
	}
	properties["KeySchema"] = keys
	set(properties, "Replica.Region", map[string]any{"Ref": "AWS::Region"})
	properties["Replicas"] = []any{properties["Replica"]}
	delete(properties, "Replica")
}

func asDimensions(value any) any {
	list := []any{}
	dimensions, _ := value.(map[string]any) // any other value has no dimension
	for _, name := range slices.Sorted(maps.Keys(dimensions)) {
		list = append(list, map[string]any{"Name": name, "Value": dimensions[name]})
	}
	return list
}

// plain returns a value as in JSON, with references as in CloudFormation.
func plain(v cty.Value) (any, error) {
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return nil, err
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		return nil, err
	}
	return referred(decoded), nil
}

var reference = regexp.MustCompile(`«([^»]+)#([a-z_]+)»`)

// referred replaces the texts that refer to resources.
func referred(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = referred(v[name])
		}
	case []any:
		for i := range v {
			v[i] = referred(v[i])
		}
	case string:
		return join(v)
	}
	return v
}

// join returns a text without references unchanged, one that is a reference as such, and
// any other as a join.
func join(text string) any {
	var parts []any
	end := 0
	for _, at := range reference.FindAllStringSubmatchIndex(text, -1) {
		if at[0] > end {
			parts = append(parts, text[end:at[0]])
		}
		parts, end = append(parts, refer(text[at[2]:at[3]], text[at[4]:at[5]])), at[1]
	}
	if end < len(text) || end == 0 {
		parts = append(parts, text[end:])
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return map[string]any{"Fn::Join": []any{"", parts}}
}

func refer(address, attribute string) any {
	is := func(kind string) bool { return strings.Contains("."+address, "."+kind+".") }
	switch {
	case is("data.aws_region"):
		return map[string]any{"Ref": "AWS::Region"}
	case is("data.aws_caller_identity"):
		return map[string]any{"Ref": "AWS::AccountId"}
	case is("aws_sqs_queue") && attribute == "name":
		return map[string]any{"Fn::GetAtt": []any{address, "QueueName"}}
	case attribute == "api_endpoint":
		return map[string]any{"Fn::GetAtt": []any{address, "ApiEndpoint"}}
	case attribute == "execution_arn":
		return map[string]any{"Fn::GetAtt": []any{address, "ExecutionArn"}} // of Terraform alone
	case (attribute == "arn" && !is("aws_sns_topic")) || attribute == "invoke_arn":
		return map[string]any{"Fn::GetAtt": []any{address, "Arn"}}
	}
	return map[string]any{"Ref": address}
}
