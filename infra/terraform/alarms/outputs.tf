output "alarm_names" {
  description = "Names of all alarms, for example for a deployment that they stop."
  value = concat(
    [for alarm in aws_cloudwatch_metric_alarm.this : alarm.alarm_name],
    [for alarm in aws_cloudwatch_metric_alarm.conflicts : alarm.alarm_name],
    [for alarm in aws_cloudwatch_metric_alarm.duplicates : alarm.alarm_name],
    [for alarm in aws_cloudwatch_metric_alarm.silent : alarm.alarm_name],
  )

  # Here it is reported once, and not for each alarm.
  precondition {
    condition     = length(var.functions) + length(var.relays) > 0
    error_message = "functions: there is nothing to watch, neither functions nor relays."
  }

  precondition {
    condition = var.thresholds.queue_age_seconds == null ? true : alltrue(flatten([
      for watched in var.functions : [for queue in watched.queues : queue.retention_seconds > var.thresholds.queue_age_seconds]
    ]))
    error_message = "thresholds: no message of a queue reaches the age of queue_age_seconds, as its retention is not longer."
  }

  precondition {
    condition     = var.thresholds.outbox_age_seconds == null ? true : alltrue([for relay in var.relays : relay.max_age_seconds > var.thresholds.outbox_age_seconds])
    error_message = "thresholds: no message of an outbox waits for outbox_age_seconds, as Lambda gives it up before."
  }
}
