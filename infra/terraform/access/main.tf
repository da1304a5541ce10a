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

  # Its entries are keys and leases: the table itself cannot be scanned.
  index = {
    Action   = "dynamodb:Scan"
    Effect   = "Allow"
    Resource = "${var.table.arn}/index/lapsed"
  }

  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = concat([local.records], var.table.kms_key_arn == null ? [] : [local.key], var.resume ? [local.index] : [])
  })
}

resource "aws_iam_role_policy" "this" {
  count = var.attach ? 1 : 0

  name   = var.policy_name
  role   = var.role_name
  policy = local.policy

  lifecycle {
    precondition {
      condition     = var.role_name != null
      error_message = "role_name: it is required, unless attach is false."
    }
  }
}
