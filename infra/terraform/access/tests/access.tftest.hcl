mock_provider "aws" {}

variables {
  role_name = "pay"
  table     = { name = "records", arn = "arn:aws:dynamodb:eu-west-1:111122223333:table/records", sort_key = "sk" }
}

run "accepts_all_records_of_a_table_with_a_sort_key" {
  command = plan
}

run "refuses_no_operation" {
  command         = plan
  expect_failures = [var.operations]

  variables {
    operations = []
  }
}

run "refuses_a_separator" {
  command         = plan
  expect_failures = [var.operations]

  variables {
    operations = ["a#b"]
  }
}

run "refuses_operations_beside_a_sort_key" {
  command         = plan
  expect_failures = [aws_iam_role_policy.this]

  variables {
    operations = ["pay"]
  }
}
