mock_provider "aws" {}

variables {
  name = "records"
}

run "accepts_a_sort_key" {
  command = plan

  variables {
    sort_key = "sk"
  }
}

run "refuses_a_short_name" {
  command         = plan
  expect_failures = [var.name]

  variables {
    name = "ab"
  }
}

run "refuses_one_attribute_as_both_keys" {
  command         = plan
  expect_failures = [aws_dynamodb_table.this]

  variables {
    sort_key = "id"
  }
}

run "refuses_a_key_that_expires" {
  command         = plan
  expect_failures = [aws_dynamodb_table.this]

  variables {
    partition_key = "expiration"
  }
}
