locals {
  # Those of functions that write metrics.
  measured   = { for name, watched in var.functions : name => watched.function.operations if watched.function.metrics }
  operations = distinct(flatten(values(local.measured)))

  # Metrics of package emf. Those of "Calls" have a further dimension, the outcome.
  operation_alarms = {
    LeaseLost = {
      metric = "Calls", outcome = "lease lost", threshold = 1, ticket = false
      advice = "a call outlived its lease, and its effect may have happened twice. Compare the lease with how long the handler runs."
    }
    Unknown = {
      metric = "Calls", outcome = "unknown", threshold = 1, ticket = false
      advice = "it is unknown whether the effect happened. Look at the system of the effect, and resolve the record."
    }
    TimedOut = {
      metric = "Calls", outcome = "timed out", threshold = 1, ticket = false
      advice = "a handler was cut off at its deadline; its effect may have happened, and the retry repeats it. Raise the timeout, or use a downstream key."
    }
    Repeated = {
      metric = "Calls", outcome = "repeated", threshold = 1, ticket = false
      advice = "an optimistic call repeated an effect that no transaction holds. Its handler must attach its effect, or Optimistic must go."
    }
    Mismatch = {
      metric = "Calls", outcome = "mismatch", threshold = var.thresholds.mismatches, ticket = true
      advice = "a key came again with a different payload. The key is not unique, or a client reuses it."
    }
    Takeovers = {
      metric = "Calls", outcome = "takeover", threshold = var.thresholds.takeovers, ticket = true
      advice = "many runs follow an attempt that failed or lapsed. See the function's errors and timeouts."
    }
    LapsedLeases = {
      metric = "LapsedLeases", outcome = null, threshold = var.thresholds.lapsed_leases, ticket = false
      advice = "an attempt crashed or was frozen, and a later one took over. Its effect may have happened twice: check the keys in the log, and use a downstream key."
    }
    Refused = {
      metric = "Refused", outcome = null, threshold = var.thresholds.refusals, ticket = true
      advice = "requests are refused before the handler runs. The log has the reason: a scope that finds no caller refuses every request."
    }
    StoreErrors = {
      metric = "StoreErrors", outcome = null, threshold = 1, ticket = false
      advice = "calls to the store fail. See the function's log for the errors."
    }
    StoreThrottles = {
      metric = "StoreThrottles", outcome = null, threshold = 1, ticket = true
      advice = "the store is too busy. With DynamoDB, see whether the table or one key is hot."
    }
  }

  # Most alarms are explained with those of an operation.
  pages = { StoreErrors = "incidents.md#an-outage-of-the-store", Unknown = "operate.md#settle-a-record" }

  # The end of a description: the severity, and the page of the documentation.
  severities = {
    ticket = "Severity: ticket. https://github.com/lambda-once/once/blob/v0.1.0/docs/"
    page   = "Severity: page. https://github.com/lambda-once/once/blob/v0.1.0/docs/"
  }

  # The metrics of Lambda have the name without an alias.
  function_names = { for name, watched in var.functions : name => regex("^(?:arn:.*:function:)?([^:]+)", watched.function.name)[0] }

  # Metrics of AWS, which exist even if no function runs.
  function_alarms = {
    for name, watched in var.functions : name => concat(
      [
        {
          name       = "Errors", namespace = "AWS/Lambda", metric = "Errors", statistic = "Sum"
          threshold  = var.thresholds.errors, ticket = false
          dimensions = { FunctionName = local.function_names[name] }
          advice     = "invocations fail. See the function's log; without a line there, it does not start."
        },
        {
          name       = "Throttles", namespace = "AWS/Lambda", metric = "Throttles", statistic = "Sum"
          threshold  = var.thresholds.throttles, ticket = true
          dimensions = { FunctionName = local.function_names[name] }
          advice     = "Lambda throttles the function. See its concurrency, and the account's."
        },
      ],
      [
        for i, id in watched.http_api_ids : {
          name       = "${local.numbers[i]}ServerErrors", namespace = "AWS/ApiGateway", metric = "5xx", statistic = "Sum"
          threshold  = var.thresholds.server_errors, ticket = false
          dimensions = { ApiId = id }
          advice     = "the API returns 5xx. The function fails, runs too long, or does not exist."
        }
      ],
      [
        for i, queue in watched.queues : {
          name       = "${local.numbers[i]}DeadLetters", namespace = "AWS/SQS", metric = "ApproximateNumberOfMessagesVisible", statistic = "Maximum"
          threshold  = 1, ticket = true
          dimensions = { QueueName = queue.dead_letters_name }
          advice     = "messages are in the dead-letter queue. Repair the cause of their failure, and send them back."
        }
      ],
      [
        for i, queue in watched.queues : {
          name       = "${local.numbers[i]}QueueAge", namespace = "AWS/SQS", metric = "ApproximateAgeOfOldestMessage", statistic = "Maximum"
          threshold  = coalesce(var.thresholds.queue_age_seconds, min(3600, queue.retention_seconds / 2)), ticket = false
          dimensions = { QueueName = queue.name }
          advice     = "the oldest message waits too long. The function fails, or is too slow for the load."
        }
      ],
    )
  }

  # The alarms of the first queue stay the same when more are added.
  numbers = concat([""], [for i in range(2, 100) : "${i}-"])

  alarms = concat(
    flatten([
      for operation in local.operations : [
        for name, alarm in local.operation_alarms : {
          name        = "${operation}-${name}"
          description = "${operation}: ${alarm.advice} ${local.severities[alarm.ticket ? "ticket" : "page"]}${lookup(local.pages, name, "operate.md#alarms-of-an-operation")}"
          dimensions  = { for key, value in { operation = operation, outcome = alarm.outcome } : key => value if value != null }
          metric      = alarm.metric
          namespace   = "Once"
          statistic   = "Sum"
          threshold   = alarm.threshold
        }
      ]
    ]),
    flatten([
      for name, alarms in local.function_alarms : [
        for alarm in alarms : merge(alarm, {
          name        = "${name}-${alarm.name}"
          description = "${name}: ${alarm.advice} ${local.severities[alarm.ticket ? "ticket" : "page"]}operate.md#alarms-of-a-function"
        })
      ]
    ]),
  )
}

# Each evaluates 5 min, and does not ring without data.
resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = { for alarm in local.alarms : alarm.name => alarm }

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = each.value.description
  alarm_actions       = var.notify
  ok_actions          = var.notify
  comparison_operator = "GreaterThanOrEqualToThreshold"
  dimensions          = each.value.dimensions
  evaluation_periods  = 1
  metric_name         = each.value.metric
  namespace           = each.value.namespace
  period              = 300
  statistic           = each.value.statistic
  tags                = var.tags
  threshold           = each.value.threshold
  treat_missing_data  = "notBreaching"
}

# Invocations that succeed, and no metrics of their calls: the alarms of operations cannot
# ring. Single hours prove nothing, because Lambda counts an invocation when it began.
resource "aws_cloudwatch_metric_alarm" "silent" {
  # CloudWatch compares ten metrics at most.
  for_each = { for name, operations in local.measured : name => operations if length(operations) > 0 && length(operations) <= 8 }

  alarm_name          = "${var.name}-${each.key}-Silent"
  alarm_description   = "${each.key}: invocations succeed, and no metrics of their calls arrive, so the alarms of operations cannot ring. Set ONCE_METRICS to emf, or name package emf in Config.Observer; keep the log level of Lambda at INFO. ${local.severities.ticket}operate.md#alarms-of-a-function"
  alarm_actions       = var.notify
  ok_actions          = var.notify
  comparison_operator = "GreaterThanOrEqualToThreshold"
  datapoints_to_alarm = 3
  evaluation_periods  = 24
  tags                = var.tags
  threshold           = 1
  treat_missing_data  = "notBreaching"

  metric_query {
    id          = "expr_1"
    expression  = "IF(${join(" + ", [for i, operation in each.value : "FILL(calls${i == 0 ? "" : i + 1}, 0)"])} == 0, invocations - FILL(errors, 0), 0)"
    label       = "invocations without a call"
    return_data = true
  }

  dynamic "metric_query" {
    for_each = merge(
      { for i, operation in each.value : "calls${i == 0 ? "" : i + 1}" => { namespace = "Once", metric = "Calls", dimensions = { operation = operation } } },
      {
        errors      = { namespace = "AWS/Lambda", metric = "Errors", dimensions = { FunctionName = local.function_names[each.key] } }
        invocations = { namespace = "AWS/Lambda", metric = "Invocations", dimensions = { FunctionName = local.function_names[each.key] } }
      },
    )

    content {
      id          = metric_query.key
      return_data = false

      metric {
        dimensions  = metric_query.value.dimensions
        metric_name = metric_query.value.metric
        namespace   = metric_query.value.namespace
        period      = 3600
        stat        = "Sum"
      }
    }
  }
}

# A percentage, from 20 calls on: one double click at night must not ring.
resource "aws_cloudwatch_metric_alarm" "conflicts" {
  for_each = toset(local.operations)

  alarm_name          = "${var.name}-${each.key}-Conflicts"
  alarm_description   = "${each.key}: many calls meet a running duplicate. Callers retry too early, or the handler is slow. ${local.severities.ticket}operate.md#alarms-of-an-operation"
  alarm_actions       = var.notify
  ok_actions          = var.notify
  comparison_operator = "GreaterThanOrEqualToThreshold"
  evaluation_periods  = 1
  tags                = var.tags
  threshold           = var.thresholds.conflict_percent
  treat_missing_data  = "notBreaching"

  metric_query {
    id          = "expr_1"
    expression  = "IF(calls >= 20, 100 * (FILL(conflict, 0)) / calls, 0)"
    label       = "conflicts in percent"
    return_data = true
  }

  dynamic "metric_query" {
    for_each = { calls = { operation = each.key }, conflict = { operation = each.key, outcome = "conflict" } }

    content {
      id          = metric_query.key
      return_data = false

      metric {
        dimensions  = metric_query.value
        metric_name = "Calls"
        namespace   = "Once"
        period      = 300
        stat        = "Sum"
      }
    }
  }
}
