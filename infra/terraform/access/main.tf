data "aws_region" "current" {}

locals {
  group = ["dynamodb:BatchGetItem", "dynamodb:PartiQLDelete", "dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate"]

  # ForAllValues alone is true for a request without any leading key, such as a Scan.
  leading_keys = {
    Condition = {
      "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = [for operation in coalesce(var.operations, []) : "${operation}#*"] }
      "Null"                    = { "dynamodb:LeadingKeys" = "false" }
    }
  }

  records = merge(
    {
      Action   = concat(["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"], var.group_commit ? local.group : [])
      Effect   = "Allow"
      Resource = var.table.arn
    },
    { for field, value in local.leading_keys : field => value if var.operations != null },
  )

  key = {
    Action = [
      "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext",
      "kms:ReEncryptFrom", "kms:ReEncryptTo",
    ]
    Condition = { StringEquals = { "kms:ViaService" = "dynamodb.${data.aws_region.current.id}.amazonaws.com" } }
    Effect    = "Allow"
    Resource  = var.table.kms_key_arn
  }
}

resource "aws_iam_role_policy" "this" {
  name = var.policy_name
  role = var.role_name
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = concat([local.records], var.table.kms_key_arn == null ? [] : [local.key])
  })

  lifecycle {
    precondition {
      condition     = var.operations == null || var.table.sort_key == null
      error_message = "operations: the partition key of a table with a sort key does not contain the operation, so that IAM cannot distinguish operations."
    }
  }
}
