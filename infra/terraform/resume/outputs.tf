output "alarm_arns" {
  description = "ARNs of the alarms by operation."
  value       = { for operation, alarm in aws_cloudwatch_metric_alarm.this : operation => alarm.arn }
}
