mock_provider "aws" {}

variables {
  name     = "pay"
  function = { name = "pay", role_name = "pay", timeout = 10, retention_seconds = 18 * 86400 }
  existing = {
    dead_letters = { arn = "arn:aws:sqs:eu-west-1:111122223333:d", name = "d", message_retention_seconds = 1209600 }
    queue        = { arn = "arn:aws:sqs:eu-west-1:111122223333:q", name = "q", message_retention_seconds = 345600, visibility_timeout_seconds = 60 }
  }
}

run "accepts_the_limits" {
  command = plan

  assert {
    condition     = length(aws_sqs_queue.this) + length(aws_sqs_queue.dead_letters) + length(aws_sqs_queue_policy.this) == 0
    error_message = "An existing queue stays as it is."
  }
}

run "refuses_a_short_visibility" {
  command         = plan
  expect_failures = [aws_lambda_event_source_mapping.this]

  variables {
    function = { name = "pay", role_name = "pay", timeout = 11, retention_seconds = 18 * 86400 }
  }
}

run "refuses_a_message_later_than_its_record" {
  command         = plan
  expect_failures = [aws_lambda_event_source_mapping.this]

  variables {
    function = { name = "pay", role_name = "pay", timeout = 10, retention_seconds = 18 * 86400 - 1 }
  }
}

# The provider refuses it of a queue that it creates.
run "refuses_to_hide_a_message_for_more_than_12_h" {
  command         = plan
  expect_failures = [aws_lambda_event_source_mapping.this]

  variables {
    batching_window_seconds = 1
    function                = { name = "pay", role_name = "pay", timeout = 7200, retention_seconds = 18 * 86400 }
    existing = {
      dead_letters = { arn = "arn:aws:sqs:eu-west-1:111122223333:d", name = "d", message_retention_seconds = 1209600 }
      queue        = { arn = "arn:aws:sqs:eu-west-1:111122223333:q", name = "q", message_retention_seconds = 345600, visibility_timeout_seconds = 43201 }
    }
  }
}
