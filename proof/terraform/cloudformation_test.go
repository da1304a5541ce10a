package terraform

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// ids are the logical ids in CDK of what Terraform deploys.
var ids = map[string]string{
	"aws_apigatewayv2_api.payments":                                 "PaymentsAPI",
	"aws_apigatewayv2_integration.payments":                         "PaymentsAPIPOSTpaymentsIntegration",
	"aws_apigatewayv2_route.payments":                               "PaymentsAPIPOSTpayments",
	"aws_apigatewayv2_stage.payments":                               "PaymentsAPIDefaultStage",
	"aws_cloudwatch_log_group.access":                               "PaymentsAPIAccessLogs",
	`aws_dynamodb_table.business["charges"]`:                        "Charges",
	`aws_dynamodb_table.business["orders"]`:                         "PlacedOrders",
	`aws_dynamodb_table.business["refunds"]`:                        "RefundsMade",
	"aws_lambda_function_url.refunds":                               "RefundsFunctionFunctionUrl",
	"aws_lambda_permission.payments":                                "PaymentsAPIPOSTpaymentsIntegrationPermission",
	"aws_sqs_queue.order_events":                                    "OrderEvents",
	"aws_sqs_queue_policy.order_events":                             "OrderEventsPolicy",
	"aws_sns_topic.on_call":                                         "OnCall",
	"aws_sns_topic_policy.on_call":                                  "OnCallPolicy",
	"module.alarms.aws_cloudwatch_dashboard.this[0]":                "Dashboard",
	"module.idempotency.aws_dynamodb_table.this":                    "Idempotency",
	"module.orders.aws_cloudwatch_log_group.this":                   "OrdersLogs",
	"module.orders.aws_iam_role.this":                               "OrdersFunctionServiceRole",
	"module.orders.aws_lambda_function.this":                        "OrdersFunction",
	"module.orders_queue.aws_lambda_event_source_mapping.this":      "OrdersFunctionSqsEventSourceOnceExamplesOrdersQueue35B6A45B",
	"module.orders_queue.aws_sqs_queue.dead_letters[0]":             "OrdersQueueDeadLetters",
	"module.orders_queue.aws_sqs_queue.this[0]":                     "OrdersQueue",
	`module.orders_queue.aws_sqs_queue_policy.this["dead_letters"]`: "OrdersQueueDeadLettersPolicy",
	`module.orders_queue.aws_sqs_queue_policy.this["queue"]`:        "OrdersQueuePolicy",
	"module.outbox.aws_dynamodb_table.this":                         "Outbox",
	"module.outbox.aws_lambda_event_source_mapping.this":            "RelayFunctionDynamoDBEventSourceOnceExamplesOutbox69BF7A03",
	"module.outbox.aws_sqs_queue.failures":                          "RelayFailures",
	"module.outbox.aws_sqs_queue_policy.failures":                   "RelayFailuresPolicy",
	"module.payments.aws_cloudwatch_log_group.this":                 "PaymentsLogs",
	"module.payments.aws_iam_role.this":                             "PaymentsFunctionServiceRole",
	"module.payments.aws_lambda_function.this":                      "PaymentsFunction",
	"module.refunds.aws_cloudwatch_log_group.this":                  "RefundsLogs",
	"module.refunds.aws_iam_role.this":                              "RefundsFunctionServiceRole",
	"module.refunds.aws_lambda_function.this":                       "RefundsFunction",
	"module.relay.aws_cloudwatch_log_group.this":                    "RelayLogs",
	"module.relay.aws_iam_role.this":                                "RelayFunctionServiceRole",
	"module.relay.aws_lambda_function.this":                         "RelayFunction",
}

// onlyInCDK are the beginnings of ids that the example of Terraform lacks: it deploys payments,
// orders and refunds alone.
var onlyInCDK = []string{"Accounts", "CheckedOut", "Checkout", "Executions", "Shared", "Transfer", "checkout", "shared", "transfer"}

// properties writes what Terraform states of a resource as CloudFormation does. It leaves names out, which
// CloudFormation generates.
var properties = map[string]func(values) values{
	"aws_apigatewayv2_api": func(v values) values { return values{"ProtocolType": v["protocol_type"]} },
	"aws_apigatewayv2_integration": func(v values) values {
		uri := regexp.MustCompile(`functions/(.*)/invocations`).FindStringSubmatch(fmt.Sprint(v["integration_uri"]))
		return values{"ApiId": v["api_id"], "IntegrationType": v["integration_type"], "IntegrationUri": uri[1], "PayloadFormatVersion": v["payload_format_version"]}
	},
	"aws_apigatewayv2_route": func(v values) values {
		return values{"ApiId": v["api_id"], "AuthorizationType": v["authorization_type"], "RouteKey": v["route_key"], "Target": v["target"]}
	},
	"aws_apigatewayv2_stage": func(v values) values {
		log, limits := block(v["access_log_settings"]), block(v["default_route_settings"])
		return values{
			"AccessLogSettings": values{"DestinationArn": log["destination_arn"], "Format": log["format"]}, "ApiId": v["api_id"], "AutoDeploy": v["auto_deploy"],
			"DefaultRouteSettings": values{"ThrottlingBurstLimit": limits["throttling_burst_limit"], "ThrottlingRateLimit": limits["throttling_rate_limit"]},
			"StageName":            v["name"],
		}
	},
	"aws_cloudwatch_log_group": func(v values) values {
		return values{"Kept": v["skip_destroy"], "RetentionInDays": v["retention_in_days"]}
	},
	"aws_cloudwatch_metric_alarm": func(v values) values {
		return values{
			"AlarmActions": v["alarm_actions"], "AlarmDescription": v["alarm_description"], "ComparisonOperator": v["comparison_operator"],
			"DatapointsToAlarm": v["datapoints_to_alarm"], "Dimensions": dimensions(v["dimensions"]), "EvaluationPeriods": v["evaluation_periods"],
			"MetricName": v["metric_name"], "Metrics": queries(v["metric_query"]), "Namespace": v["namespace"], "OKActions": v["ok_actions"],
			"Period": v["period"], "Statistic": v["statistic"], "Threshold": v["threshold"], "TreatMissingData": v["treat_missing_data"],
		}
	},
	"aws_dynamodb_table": func(v values) values {
		var attributes []any
		for _, a := range list(v["attribute"]) {
			attributes = append(attributes, values{"AttributeName": a["name"], "AttributeType": a["type"]})
		}
		keys := []any{values{"AttributeName": v["hash_key"], "KeyType": "HASH"}}
		if v["range_key"] != nil {
			keys = append(keys, values{"AttributeName": v["range_key"], "KeyType": "RANGE"})
		}
		ttl := block(v["ttl"])
		return values{
			"AttributeDefinitions": attributes, "BillingMode": v["billing_mode"], "KeySchema": keys,
			"StreamSpecification": values{"StreamViewType": v["stream_view_type"]},
			"Replicas": []any{values{
				"DeletionProtectionEnabled": v["deletion_protection_enabled"], "Region": region,
				"PointInTimeRecoverySpecification": values{"PointInTimeRecoveryEnabled": block(v["point_in_time_recovery"])["enabled"]},
			}},
			"TimeToLiveSpecification": values{"AttributeName": ttl["attribute_name"], "Enabled": ttl["enabled"]},
		}
	},
	"aws_iam_role": func(v values) values { return values{"AssumeRolePolicyDocument": v["assume_role_policy"]} },
	"aws_lambda_event_source_mapping": func(v values) values {
		name := fmt.Sprint(v["function_name"])
		var filters []any
		for _, f := range list(block(v["filter_criteria"])["filter"]) {
			filters = append(filters, values{"Pattern": f["pattern"]})
		}
		return values{
			"BatchSize": v["batch_size"], "BisectBatchOnFunctionError": v["bisect_batch_on_function_error"],
			"DestinationConfig": values{"OnFailure": values{"Destination": block(block(v["destination_config"])["on_failure"])["destination_arn"]}},
			"EventSourceArn":    v["event_source_arn"], "FilterCriteria": values{"Filters": filters}, "FunctionName": name[strings.LastIndex(name, ":")+1:],
			"FunctionResponseTypes": v["function_response_types"], "MaximumBatchingWindowInSeconds": v["maximum_batching_window_in_seconds"],
			"MaximumRecordAgeInSeconds": v["maximum_record_age_in_seconds"], "MaximumRetryAttempts": v["maximum_retry_attempts"],
			"ParallelizationFactor": v["parallelization_factor"], "ScalingConfig": v["scaling_config"], "StartingPosition": v["starting_position"],
		}
	},
	"aws_lambda_function": func(v values) values {
		return values{
			"Architectures": v["architectures"], "Environment": values{"Variables": block(v["environment"])["variables"]}, "Handler": v["handler"],
			"LoggingConfig": values{"LogGroup": block(v["logging_config"])["log_group"]}, "MemorySize": v["memory_size"], "Role": v["role"],
			"Runtime": v["runtime"], "Timeout": v["timeout"],
		}
	},
	"aws_lambda_function_url": func(v values) values {
		return values{"AuthType": v["authorization_type"], "TargetFunctionArn": v["function_arn"]}
	},
	"aws_lambda_permission": func(v values) values {
		return values{"Action": v["action"], "Principal": v["principal"], "SourceArn": v["source_arn"]}
	},
	"aws_sns_topic":        func(values) values { return values{} },
	"aws_sns_topic_policy": func(v values) values { return values{"PolicyDocument": v["policy"], "Topics": []any{v["arn"]}} },
	"aws_sqs_queue": func(v values) values {
		retention, visibility := v["message_retention_seconds"], v["visibility_timeout_seconds"]
		if retention == 345600.0 { // the default of SQS, as the next one
			retention = nil
		}
		if visibility == 30.0 {
			visibility = nil
		}
		return values{
			"FifoQueue": v["fifo_queue"], "MessageRetentionPeriod": retention, "RedrivePolicy": v["redrive_policy"], "VisibilityTimeout": visibility,
		}
	},
	"aws_sqs_queue_policy": func(v values) values { return values{"PolicyDocument": v["policy"], "Queues": []any{v["queue_url"]}} },
}

// generated are properties of CDK with names, with the policy of AWS for logs, and with the code, which comes to
// Lambda in different ways.
var generated = map[string]string{
	"AWS::ApiGatewayV2::Api":  "Name",
	"AWS::IAM::Role":          "ManagedPolicyArns",
	"AWS::Lambda::Function":   "Code",
	"AWS::Lambda::Permission": "FunctionName",
}

func dimensions(v any) (all []any) {
	of, _ := v.(values) // an alarm on an expression has none
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, values{"Name": name, "Value": of[name]})
	}
	return all
}

func queries(v any) (all []any) {
	for _, q := range list(v) {
		of := block(q["metric"])
		all = append(all, values{
			"Expression": q["expression"], "Id": q["id"], "Label": q["label"], "ReturnData": q["return_data"],
			"MetricStat": values{
				"Metric": values{"Dimensions": dimensions(of["dimensions"]), "MetricName": of["metric_name"], "Namespace": of["namespace"]},
				"Period": of["period"], "Stat": of["stat"],
			},
		})
	}
	return all
}

func list(v any) (all []values) {
	of, _ := v.([]any)
	for _, one := range of {
		all = append(all, one.(values))
	}
	return all
}

// block returns the only block of its name, or an empty one.
func block(v any) values {
	for _, b := range list(v) {
		return b
	}
	return values{}
}
