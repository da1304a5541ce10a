mock_provider "aws" {}

variables {
  role_name = "pay"
  table     = { name = "records", arn = "arn:aws:dynamodb:eu-west-1:111122223333:table/records", sort_key = "sk" }
}

run "accepts_all_records_of_a_table_with_a_sort_key" {
  command = plan

  assert {
    condition     = aws_iam_role_policy.this[0].policy == output.policy
    error_message = "The role has a different policy."
  }
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
  expect_failures = [output.policy]

  variables {
    operations = ["pay"]
  }
}

run "refuses_an_alias" {
  command         = plan
  expect_failures = [var.table]

  variables {
    table = { name = "records", arn = "arn:aws:dynamodb:eu-west-1:111122223333:table/records", kms_key_arn = "arn:aws:kms:eu-west-1:111122223333:alias/a" }
  }
}

run "has_the_same_policy_without_a_role" {
  command = plan

  variables {
    attach    = false
    role_name = null
  }

  assert {
    condition     = length(aws_iam_role_policy.this) == 0 && output.policy == run.accepts_all_records_of_a_table_with_a_sort_key.policy
    error_message = "It creates a policy, or the output is a different one."
  }
}

run "refuses_to_attach_without_a_role" {
  command         = plan
  expect_failures = [aws_iam_role_policy.this]

  variables {
    role_name = null
  }
}

run "scans_the_index_of_leases_alone" {
  command = plan

  variables {
    operations = ["pay"]
    resume     = true
    table      = { name = "records", arn = "arn:aws:dynamodb:eu-west-1:111122223333:table/records", resume = true }
  }

  assert {
    condition     = [for s in jsondecode(output.policy).Statement : s.Resource if contains(flatten([s.Action]), "dynamodb:Scan")] == ["arn:aws:dynamodb:eu-west-1:111122223333:table/records/index/lapsed"]
    error_message = "It may scan the table, or not the index."
  }
}

run "refuses_to_resume_without_the_index" {
  command         = plan
  expect_failures = [output.policy]

  variables {
    resume = true
  }
}
