mock_provider "aws" {}

variables {
  name     = "pay"
  function = { name = "pay", role_name = "pay", timeout = 10, retention_seconds = 18 * 86400 } # 14 days and 4 days of the queues
}

run "accepts_the_limits" {
  command = plan

  variables {
    batch_size              = 10000
    batching_window_seconds = 1
    max_concurrency         = 2
    max_receives            = 2
  }
}

run "accepts_the_longest_function" {
  command = plan

  variables {
    function = { name = "pay", role_name = "pay", timeout = 7200, retention_seconds = 18 * 86400 }
  }
}

run "accepts_a_short_dead_letter_queue_of_fifo" {
  command = plan

  variables {
    dead_letter_retention_seconds = 60
    fifo                          = true
  }
}

run "refuses_too_little" {
  command = plan
  expect_failures = [
    var.batch_size, var.batching_window_seconds, var.dead_letter_retention_seconds, var.max_concurrency, var.max_receives, var.name, var.retention_seconds,
  ]

  variables {
    batch_size                    = 0
    batching_window_seconds       = -1
    dead_letter_retention_seconds = 59
    max_concurrency               = 1
    max_receives                  = 1
    name                          = "pay.fifo"
    retention_seconds             = 59
  }
}

run "refuses_too_much" {
  command = plan
  expect_failures = [
    var.batch_size, var.batching_window_seconds, var.dead_letter_retention_seconds, var.max_concurrency, var.max_receives, var.retention_seconds,
  ]

  variables {
    batch_size                    = 10001
    batching_window_seconds       = 301
    dead_letter_retention_seconds = 1209601
    max_concurrency               = 1001
    max_receives                  = 1001
    retention_seconds             = 1209601
  }
}

run "refuses_a_large_batch_of_fifo" {
  command         = plan
  expect_failures = [aws_lambda_event_source_mapping.this]

  variables {
    batch_size                    = 11
    dead_letter_retention_seconds = 345600
    fifo                          = true
  }
}

run "refuses_a_large_batch_without_a_window" {
  command         = plan
  expect_failures = [aws_lambda_event_source_mapping.this]

  variables {
    batch_size = 11
  }
}

run "refuses_a_window_of_fifo" {
  command         = plan
  expect_failures = [aws_lambda_event_source_mapping.this]

  variables {
    batching_window_seconds       = 1
    dead_letter_retention_seconds = 345600
    fifo                          = true
  }
}

run "refuses_dead_letters_that_are_gone_at_once" {
  command         = plan
  expect_failures = [aws_lambda_event_source_mapping.this]

  variables {
    dead_letter_retention_seconds = 345599
  }
}

run "refuses_a_message_later_than_its_record" {
  command         = plan
  expect_failures = [aws_lambda_event_source_mapping.this]

  variables {
    retention_seconds = 345601
  }
}

run "refuses_a_message_of_fifo_later_than_its_record" {
  command         = plan
  expect_failures = [aws_lambda_event_source_mapping.this]

  variables {
    fifo = true
  }
}
