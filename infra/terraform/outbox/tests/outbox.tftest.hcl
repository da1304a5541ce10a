mock_provider "aws" {
  mock_data "aws_region" {
    defaults = { id = "eu-west-1" }
  }

  mock_resource "aws_dynamodb_table" {
    defaults = { arn = "arn:aws:dynamodb:eu-west-1:111122223333:table/outbox", stream_arn = "arn:aws:dynamodb:eu-west-1:111122223333:table/outbox/stream/a" }
  }

  mock_resource "aws_sqs_queue" {
    defaults = { arn = "arn:aws:sqs:eu-west-1:111122223333:outbox-failures" }
  }
}

variables {
  name       = "outbox"
  publishers = { pay = "pay" }
  relay      = { name = "arn:aws:lambda:eu-west-1:111122223333:function:relay:live", role_name = "relay" }
}

run "a_temporary_stage" {
  variables {
    ephemeral   = true
    kms_key_arn = "arn:aws:kms:eu-west-1:111122223333:key/a"
  }

  assert {
    condition     = length(terraform_data.keep_failures) == 0 && !aws_dynamodb_table.this.deletion_protection_enabled && output.table.ephemeral
    error_message = "The table and the failures of an ephemeral stage go with it."
  }

  assert {
    condition = alltrue([
      for policy in [aws_iam_role_policy.publish["pay"].policy, aws_iam_role_policy.relay.policy] :
      contains([for s in jsondecode(policy).Statement : jsonencode([s.Resource, try(s.Condition, null)])], jsonencode([var.kms_key_arn, { StringEquals = { "kms:ViaService" = "dynamodb.eu-west-1.amazonaws.com" } }]))
    ])
    error_message = "A role may not use the key through DynamoDB, and every transaction or mark fails."
  }
}

# Terraform knows the queue by its address: with a second one, it would be destroyed with the
# positions in it.
run "becomes_a_lasting_one" {
  command = plan

  assert {
    condition     = output.relay.failures_arn == run.a_temporary_stage.relay.failures_arn && length(terraform_data.keep_failures) == 1 && aws_dynamodb_table.this.deletion_protection_enabled
    error_message = "The failure queue stays, and Terraform now keeps it."
  }

  assert {
    condition     = !aws_dynamodb_table.this.server_side_encryption[0].enabled && length(jsondecode(aws_iam_role_policy.publish["pay"].policy).Statement) == 1
    error_message = "The table keeps the key, and its roles lose it."
  }
}

run "refuses_an_alias_a_long_name_and_a_role_twice" {
  command         = plan
  expect_failures = [var.kms_key_arn, var.name, var.publishers]

  variables {
    kms_key_arn = "arn:aws:kms:eu-west-1:111122223333:alias/a"
    name        = "a123456789b123456789c123456789d123456789e123456789f123456789g123456789ab"
    publishers  = { pay = "pay", refund = "pay" }
  }
}
