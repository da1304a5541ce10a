mock_provider "aws" {}

variables {
  function = { arn = "arn:aws:lambda:eu-west-1:111122223333:function:resume", name = "resume", operations = ["pay", "refund"], resume = true, timeout = 300 }
  notify   = ["arn:aws:sns:eu-west-1:111122223333:on-call"]
}

run "schedules_rounds_and_watches_them" {
  command = plan

  assert {
    condition     = aws_cloudwatch_event_rule.this.schedule_expression == "rate(5 minutes)" && aws_lambda_function_event_invoke_config.this.maximum_retry_attempts == 0
    error_message = "The schedule is a different one, or a round is retried."
  }

  assert {
    condition = alltrue([for operation in ["pay", "refund"] : alltrue([
      aws_cloudwatch_metric_alarm.this[operation].dimensions.operation == operation,
      aws_cloudwatch_metric_alarm.this[operation].metric_name == "OldestAbandoned",
      aws_cloudwatch_metric_alarm.this[operation].period == 1800,
      aws_cloudwatch_metric_alarm.this[operation].threshold == local.abandoned.threshold,
      aws_cloudwatch_metric_alarm.this[operation].treat_missing_data == "breaching",
    ])])
    error_message = "An alarm does not ring for old work, or without data."
  }
}

run "waits_for_two_intervals" {
  command = plan

  variables {
    interval_minutes = 60
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.this["pay"].period == 8400 && aws_cloudwatch_metric_alarm.this["pay"].threshold == 8400
    error_message = "The alarm rings before the second round."
  }
}

run "refuses_a_function_that_does_not_resume" {
  command         = plan
  expect_failures = [aws_cloudwatch_event_rule.this]

  variables {
    function = { arn = "arn:aws:lambda:eu-west-1:111122223333:function:pay", name = "pay", operations = ["pay"], timeout = 10 }
  }
}

run "refuses_rounds_that_overlap" {
  command         = plan
  expect_failures = [aws_cloudwatch_event_rule.this]

  variables {
    interval_minutes = 1
  }
}

run "refuses_half_a_minute" {
  command         = plan
  expect_failures = [var.interval_minutes]

  variables {
    interval_minutes = 1.5
  }
}
