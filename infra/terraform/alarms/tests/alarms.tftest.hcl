mock_provider "aws" {}

variables {
  name = "stage"
  functions = {
    Pay = {
      function = { name = "arn:aws:lambda:eu-west-1:111122223333:function:pay:live", operations = ["pay", "refund"] }
      queues = [
        { name = "a", dead_letters_name = "b", retention_seconds = 600 },
        { name = "c", dead_letters_name = "d", retention_seconds = 1209600 },
      ]
    }
    Ask   = { function = { name = "ask", operations = ["audit"], metrics = false }, http_api_ids = ["a"], url = true }
    Quiet = { function = { name = "quiet", operations = ["audit"], metrics = false } }
  }
  relays = { Relay = { failures_name = "f", max_age_seconds = 43200, name = "arn:aws:lambda:eu-west-1:111122223333:function:relay:live" } }
}

run "alarms" {
  command = plan

  assert {
    condition     = length(aws_cloudwatch_metric_alarm.this) == 2 * 12 + 3 * 2 + 2 + 2 * 2 + 4
    error_message = "Operations, functions, queues and relays have alarms, but no operation without metrics."
  }

  assert {
    condition     = keys(aws_cloudwatch_metric_alarm.silent) == ["Pay"] && keys(aws_cloudwatch_metric_alarm.conflicts) == ["pay", "refund"]
    error_message = "Only operations with metrics can be silent, or conflict."
  }

  assert {
    condition     = length(output.alarm_names) == length(aws_cloudwatch_metric_alarm.this) + 2 + 1
    error_message = "The names of the conflicts, or of the silent function, are missing."
  }

  assert {
    condition     = length(aws_cloudwatch_metric_alarm.duplicates) == 0
    error_message = "Without a threshold, no alarm watches the share of duplicates."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.this["Pay-Errors"].dimensions.FunctionName == "pay"
    error_message = "AWS writes the metrics of an alias under the name of its function."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.this["Pay-QueueAge"].threshold == 300 && aws_cloudwatch_metric_alarm.this["Pay-2-QueueAge"].threshold == 3600
    error_message = "An alarm rings at half of a short retention."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.this["Ask-ServerErrors"].dimensions == tomap({ ApiId = "a" }) && aws_cloudwatch_metric_alarm.this["Ask-2-ServerErrors"].metric_name == "Url5xxCount"
    error_message = "A function URL has an alarm of its own, after those of its APIs."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.this["Relay-IteratorAge"].dimensions == tomap({ FunctionName = "relay" }) && aws_cloudwatch_metric_alarm.this["Relay-IteratorAge"].threshold == 300000
    error_message = "The alarm of a relay counts ms of its function."
  }
}

run "accepts_the_limits" {
  command = plan

  variables {
    notify     = ["arn:aws:sns:eu-west-1:111122223333:all"]
    page       = ["arn:aws:sns:eu-west-1:111122223333:pager"]
    thresholds = { queue_age_seconds = 599, outbox_age_seconds = 43199, conflict_percent = 100, duplicate_percent = 60, errors = 0 }
    ticket     = ["arn:aws:sns:eu-west-1:111122223333:mail"]
  }

  assert {
    condition = alltrue([
      aws_cloudwatch_metric_alarm.this["Pay-Errors"].alarm_actions == toset(concat(var.notify, var.page)),
      aws_cloudwatch_metric_alarm.this["Pay-Throttles"].alarm_actions == toset(concat(var.notify, var.ticket)),
    ])
    error_message = "A severity has topics of its own."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.this["Pay-Errors"].threshold == 0 && aws_cloudwatch_metric_alarm.conflicts["pay"].threshold == 100 && aws_cloudwatch_metric_alarm.this["Relay-IteratorAge"].threshold == 43199000
    error_message = "The thresholds are those of the variable."
  }

  assert {
    condition = keys(aws_cloudwatch_metric_alarm.duplicates) == ["pay", "refund"] && aws_cloudwatch_metric_alarm.duplicates["pay"].threshold == 60 && toset([
      for query in aws_cloudwatch_metric_alarm.duplicates["pay"].metric_query : jsonencode([query.id, query.expression, [for metric in query.metric : metric.dimensions]])
      ]) == toset([
      jsonencode(["calls", null, [{ operation = "pay" }]]),
      jsonencode(["conflict", null, [{ operation = "pay", outcome = "conflict" }]]),
      jsonencode(["expr_1", "IF(calls >= 20, 100 * (FILL(replayed, 0) + FILL(conflict, 0)) / calls, 0)", []]),
      jsonencode(["replayed", null, [{ operation = "pay", outcome = "replayed" }]]),
    ])
    error_message = "A threshold creates the alarms on the share of duplicates."
  }
}

run "watches_relays_alone" {
  command = plan

  variables {
    functions = {}
  }

  assert {
    condition     = length(output.alarm_names) == 4
    error_message = "A relay has four alarms."
  }
}

run "refuses_to_watch_nothing" {
  command         = plan
  expect_failures = [output.alarm_names]

  variables {
    functions = {}
    relays    = {}
  }
}

run "refuses_a_name_with_a_space" {
  command         = plan
  expect_failures = [var.name, var.thresholds]

  variables {
    name       = "a b"
    thresholds = { duplicate_percent = 101 }
  }
}

run "refuses_a_colon_at_the_beginning" {
  command         = plan
  expect_failures = [var.functions]

  variables {
    functions = { Pay = { function = { name = "pay", operations = [":pay"] } } }
  }
}

run "refuses_what_cloudwatch_cannot_watch" {
  command         = plan
  expect_failures = [var.functions, var.thresholds]

  variables {
    functions  = { Pay = { function = { name = "pay", operations = ["ä"] } } }
    thresholds = { errors = -1 }
  }
}

run "refuses_an_age_that_no_message_reaches" {
  command         = plan
  expect_failures = [output.alarm_names]

  variables {
    thresholds = { queue_age_seconds = 600 }
  }
}

run "refuses_an_age_at_which_the_relay_gives_up" {
  command         = plan
  expect_failures = [output.alarm_names]

  variables {
    thresholds = { outbox_age_seconds = 43200 }
  }
}
