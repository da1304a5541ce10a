mock_provider "aws" {}

variables {
  filename   = "versions.tf" # Terraform does not look into it
  name       = "pay"
  operations = ["pay"]
  table      = { name = "records", arn = "arn:aws:dynamodb:eu-west-1:111122223333:table/records" }
}

run "accepts_the_limits" {
  command = plan

  variables {
    log_retention_days     = 0
    memory_size            = 128
    restrict_to_operations = false
    table                  = { name = "records", arn = "arn:aws:dynamodb:eu-west-1:111122223333:table/records", sort_key = "sk" }
    timeout                = 900
  }
}

run "refuses_too_little" {
  command         = plan
  expect_failures = [var.environment, var.log_level, var.log_retention_days, var.memory_size, var.name, var.retention_seconds, var.timeout]

  variables {
    environment        = { A = "x" }
    log_level          = "TRACE"
    log_retention_days = 2
    memory_size        = 127
    name               = "a b"
    retention_seconds  = 0
    timeout            = 0
  }
}

run "refuses_too_much" {
  command         = plan
  expect_failures = [var.environment, var.memory_size, var.operations, var.timeout]

  variables {
    environment = { IDEMPOTENCY_TABLE = "x" }
    memory_size = 10241
    operations  = ["pay", "pay"]
    timeout     = 901
  }
}

run "refuses_what_is_not_whole_or_not_ascii" {
  command         = plan
  expect_failures = [var.environment, var.memory_size, var.operations, var.timeout]

  variables {
    environment = { AWS_REGION = "x" }
    memory_size = 128.5
    operations  = ["ä"]
    timeout     = 1.5
  }
}

run "refuses_the_switch_of_unit_tests_and_a_blank" {
  command         = plan
  expect_failures = [var.environment, var.operations]

  variables {
    environment = { ONCE_DISABLED = "x" }
    operations  = [" "]
  }
}

run "refuses_no_operations" {
  command         = plan
  expect_failures = [aws_lambda_function.this]

  variables {
    operations             = []
    restrict_to_operations = false
  }
}

run "refuses_operations_of_a_relay" {
  command         = plan
  expect_failures = [aws_lambda_function.this]

  variables {
    table = { name = "outbox", arn = "arn:aws:dynamodb:eu-west-1:111122223333:table/outbox", outbox = true }
  }
}

run "a_relay_has_no_records" {
  command = plan

  variables {
    operations = []
    table      = { name = "outbox", arn = "arn:aws:dynamodb:eu-west-1:111122223333:table/outbox", outbox = true }
  }

  assert {
    condition     = length(module.access) == 0 && aws_lambda_function.this.environment[0].variables == tomap({ AWS_LAMBDA_LOG_LEVEL = "INFO", OUTBOX_TABLE = "outbox" })
    error_message = "It may access records, or has variables of a function with records."
  }
}
