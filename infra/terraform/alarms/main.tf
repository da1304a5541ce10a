locals {
  # What the CDK constructs and "once alarms" read, too.
  catalog = jsondecode(file("${path.module}/alarms.json"))

  # Those of functions that write metrics.
  measured   = { for name, watched in var.functions : name => watched.function.operations if watched.function.metrics }
  operations = distinct(flatten(values(local.measured)))

  # The metrics of Lambda have the name without an alias.
  function_names = {
    for name, function in merge({ for name, watched in var.functions : name => watched.function.name }, { for name, relay in var.relays : name => relay.name }) :
    name => regex("^(?:arn:.*:function:)?([^:]+)", function)[0]
  }

  # The alarms of the first queue stay the same when more are added.
  numbers = concat([""], [for i in range(2, 100) : "${i}-"])

  # The ServerErrors of a function URL.
  url_errors = merge(local.catalog.function.ServerErrors, {
    advice    = replace(local.catalog.function.ServerErrors.advice, "the API", "the URL")
    dimension = "FunctionName"
    metric    = "Url5xxCount"
    namespace = "AWS/Lambda"
  })

  # Metrics of AWS, which exist even if no function runs.
  function_alarms = flatten([
    for name, watched in var.functions : concat(
      [for alarm in ["Errors", "Throttles"] : { of = name, alarm = alarm, entry = local.catalog.function[alarm], value = local.function_names[name], most = null }],
      [for i, id in watched.http_api_ids : { of = name, alarm = "${local.numbers[i]}ServerErrors", entry = local.catalog.function.ServerErrors, value = id, most = null }],
      [for i in [length(watched.http_api_ids)] : { of = name, alarm = "${local.numbers[i]}ServerErrors", entry = local.url_errors, value = local.function_names[name], most = null } if watched.url],
      [for i, queue in watched.queues : { of = name, alarm = "${local.numbers[i]}DeadLetters", entry = local.catalog.function.DeadLetters, value = queue.dead_letters_name, most = null }],
      [for i, queue in watched.queues : { of = name, alarm = "${local.numbers[i]}QueueAge", entry = local.catalog.function.QueueAge, value = queue.name, most = queue.retention_seconds / 2 }],
    )
  ])

  # The age is in ms.
  relay_alarms = flatten([
    for name, relay in var.relays : concat(
      [for alarm in ["Errors", "Throttles"] : { of = name, alarm = alarm, entry = local.catalog.function[alarm], value = local.function_names[name], most = null }],
      [
        { of = name, alarm = "Failures", entry = local.catalog.relay.Failures, value = relay.failures_name, most = null },
        { of = name, alarm = "IteratorAge", entry = local.catalog.relay.IteratorAge, value = local.function_names[name], most = relay.max_age_seconds * 1000 / 2 },
      ],
    )
  ])

  alarms = concat(
    flatten([
      for operation in local.operations : [
        for alarm in local.catalog.operation : merge(alarm, {
          key        = "${operation}-${alarm.name}"
          of         = operation
          page       = lookup(alarm, "page", local.catalog.pages.operation)
          dimensions = merge({ operation = operation }, can(alarm.outcome) ? { outcome = alarm.outcome } : {})
          namespace  = "Once"
          statistic  = "Sum"
          most       = null
          unit       = 1
        }) if can(alarm.metric)
      ]
    ]),
    [
      for one in concat(local.function_alarms, local.relay_alarms) : merge(one.entry, {
        key        = "${one.of}-${one.alarm}"
        of         = one.of
        page       = lookup(one.entry, "page", local.catalog.pages[contains(keys(var.relays), one.of) ? "relay" : "function"])
        dimensions = { (one.entry.dimension) = one.value }
        most       = one.most
        unit       = one.entry.metric == "IteratorAge" ? 1000 : 1
      })
    ],
  )

  silent     = local.catalog.function.Silent
  conflicts  = one([for alarm in local.catalog.operation : alarm if alarm.name == "Conflicts"])
  duplicates = local.catalog.share.Duplicates

  # The actions by severity.
  actions = { page = concat(var.notify, var.page), ticket = concat(var.notify, var.ticket) }
}

# Each evaluates 5 min, and does not ring without data.
resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = { for alarm in local.alarms : alarm.key => alarm }

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = "${each.value.of}: ${each.value.advice} Severity: ${each.value.severity}. ${local.catalog.documentation}${each.value.page}"
  alarm_actions       = local.actions[each.value.severity]
  ok_actions          = local.actions[each.value.severity]
  comparison_operator = "GreaterThanOrEqualToThreshold"
  dimensions          = each.value.dimensions
  evaluation_periods  = 1
  metric_name         = each.value.metric
  namespace           = each.value.namespace
  period              = 300
  statistic           = each.value.statistic
  tags                = var.tags
  threshold           = coalesce(try(var.thresholds[each.value.setting] * each.value.unit, null), each.value.most == null ? each.value.threshold : min(each.value.threshold, each.value.most))
  treat_missing_data  = "notBreaching"
}

# Invocations that succeed, and no metrics of their calls: the alarms of operations cannot
# ring. Single hours prove nothing, because Lambda counts an invocation when it began.
resource "aws_cloudwatch_metric_alarm" "silent" {
  # CloudWatch compares ten metrics at most.
  for_each = { for name, operations in local.measured : name => operations if length(operations) > 0 && length(operations) <= 8 }

  alarm_name          = "${var.name}-${each.key}-Silent"
  alarm_description   = "${each.key}: ${local.silent.advice} Severity: ${local.silent.severity}. ${local.catalog.documentation}${local.catalog.pages.function}"
  alarm_actions       = local.actions[local.silent.severity]
  ok_actions          = local.actions[local.silent.severity]
  comparison_operator = "GreaterThanOrEqualToThreshold"
  datapoints_to_alarm = local.silent.hours
  evaluation_periods  = 24
  tags                = var.tags
  threshold           = local.silent.threshold
  treat_missing_data  = "notBreaching"

  metric_query {
    id          = "expr_1"
    expression  = format(local.silent.expression, join(" + ", [for i, operation in each.value : "FILL(calls${i == 0 ? "" : i + 1}, 0)"]))
    label       = local.silent.label
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

# A percentage of enough calls: one double click at night must not ring.
resource "aws_cloudwatch_metric_alarm" "conflicts" {
  for_each = toset(local.operations)

  alarm_name          = "${var.name}-${each.key}-Conflicts"
  alarm_description   = "${each.key}: ${local.conflicts.advice} Severity: ${local.conflicts.severity}. ${local.catalog.documentation}${local.catalog.pages.operation}"
  alarm_actions       = local.actions[local.conflicts.severity]
  ok_actions          = local.actions[local.conflicts.severity]
  comparison_operator = "GreaterThanOrEqualToThreshold"
  evaluation_periods  = 1
  tags                = var.tags
  threshold           = coalesce(var.thresholds.conflict_percent, local.conflicts.threshold)
  treat_missing_data  = "notBreaching"

  metric_query {
    id          = "expr_1"
    expression  = local.conflicts.expression
    label       = local.conflicts.label
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

# How many duplicates are usual depends on the senders, so only a threshold creates it.
resource "aws_cloudwatch_metric_alarm" "duplicates" {
  for_each = var.thresholds.duplicate_percent == null ? toset([]) : toset(local.operations)

  alarm_name          = "${var.name}-${each.key}-Duplicates"
  alarm_description   = "${each.key}: ${local.duplicates.advice} Severity: ${local.duplicates.severity}. ${local.catalog.documentation}${local.catalog.pages.operation}"
  alarm_actions       = local.actions[local.duplicates.severity]
  ok_actions          = local.actions[local.duplicates.severity]
  comparison_operator = "GreaterThanOrEqualToThreshold"
  evaluation_periods  = 1
  tags                = var.tags
  threshold           = var.thresholds.duplicate_percent
  treat_missing_data  = "notBreaching"

  metric_query {
    id          = "expr_1"
    expression  = local.duplicates.expression
    label       = local.duplicates.label
    return_data = true
  }

  dynamic "metric_query" {
    for_each = merge({ calls = { operation = each.key } }, {
      for outcome in ["conflict", "replayed"] : outcome => { operation = each.key, outcome = outcome }
    })

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
