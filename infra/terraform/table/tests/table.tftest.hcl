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

run "has_no_index_unless_it_resumes" {
  command = plan

  assert {
    condition     = length(aws_dynamodb_table.this.global_secondary_index) == 0 && length(aws_dynamodb_table.this.attribute) == 1
    error_message = "The table has an index, which costs writes."
  }
}

run "has_the_index_of_leases" {
  command = plan

  variables {
    resume = true
  }

  assert {
    condition     = [for index in aws_dynamodb_table.this.global_secondary_index : "${index.name} ${index.hash_key} ${index.projection_type}"] == ["lapsed in_progress_expiration KEYS_ONLY"]
    error_message = "The index is a different one."
  }

  assert {
    condition     = output.table.resume
    error_message = "The module access does not know of the index."
  }
}

run "refuses_a_lease_that_is_the_key" {
  command         = plan
  expect_failures = [aws_dynamodb_table.this]

  variables {
    lease = "id"
  }
}

run "has_a_key_of_yours" {
  variables {
    kms_key_arn = "arn:aws:kms:eu-west-1:111122223333:key/a"
  }

  assert {
    condition     = aws_dynamodb_table.this.server_side_encryption[0].enabled
    error_message = "DynamoDB owns the key."
  }
}

# No function could use the key.
run "refuses_an_alias" {
  command         = plan
  expect_failures = [var.kms_key_arn]

  variables {
    kms_key_arn = "arn:aws:kms:eu-west-1:111122223333:alias/a"
  }
}

# The roles of the functions lose the key, too.
run "gives_the_key_up" {
  command = plan

  assert {
    condition     = !aws_dynamodb_table.this.server_side_encryption[0].enabled
    error_message = "The table keeps the key, and nobody could read it."
  }
}
