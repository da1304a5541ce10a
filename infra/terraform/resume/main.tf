locals {
  # What the CDK constructs and "once alarms" read, too.
  catalog   = jsondecode(file("${path.module}/../alarms/alarms.json"))
  abandoned = local.catalog.resume.Abandoned

  # The second round after the pause of ResumeOptions, and the run itself.
  late_seconds = 60 * (2 * var.interval_minutes + 20)
}

resource "aws_cloudwatch_event_rule" "this" {
  name                = var.function.name
  schedule_expression = "rate(${var.interval_minutes} ${var.interval_minutes == 1 ? "minute" : "minutes"})"
  tags                = var.tags

  lifecycle {
    precondition {
      condition     = var.function.resume && var.function.timeout <= 60 * var.interval_minutes
      error_message = "function: it needs resume, and a timeout of at most the interval."
    }
  }
}

resource "aws_cloudwatch_event_target" "this" {
  arn  = var.function.arn
  rule = aws_cloudwatch_event_rule.this.name

  depends_on = [aws_lambda_permission.this]
}

resource "aws_lambda_permission" "this" {
  action        = "lambda:InvokeFunction"
  function_name = var.function.name
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.this.arn
}

# A round that fails is not retried, because the next one does the same.
resource "aws_lambda_function_event_invoke_config" "this" {
  function_name                = var.function.name
  maximum_event_age_in_seconds = 60 * var.interval_minutes
  maximum_retry_attempts       = 0
}

# It also rings without data: then the function does not run.
resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = toset(var.function.operations)

  alarm_name          = "${var.function.name}-${each.key}-Abandoned"
  alarm_description   = "${each.key}: ${local.abandoned.advice} Severity: ${local.abandoned.severity}. ${local.catalog.documentation}${local.catalog.pages.resume}"
  alarm_actions       = var.notify
  ok_actions          = var.notify
  comparison_operator = "GreaterThanOrEqualToThreshold"
  dimensions          = { (local.abandoned.dimension) = each.key }
  evaluation_periods  = 1
  metric_name         = local.abandoned.metric
  namespace           = local.abandoned.namespace
  period              = local.late_seconds
  statistic           = local.abandoned.statistic
  tags                = var.tags
  threshold           = local.late_seconds
  treat_missing_data  = local.abandoned.missing
}
