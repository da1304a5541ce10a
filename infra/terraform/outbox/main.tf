data "aws_region" "current" {}

locals {
  # A repeated call overwrites its item, which is published again. Marks and expiry are writes,
  # too, but are not published.
  unpublished = jsonencode({
    dynamodb  = { NewImage = { published = { N = [{ exists = false }] } } } # "exists" applies only to a leaf
    eventName = ["INSERT", "MODIFY"]
  })

  # Half of the stream's retention: later, an item could disappear before it is given up.
  max_age_seconds = 43200

  key = [
    for arn in var.kms_key_arn[*] : {
      Action = [
        "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext",
        "kms:ReEncryptFrom", "kms:ReEncryptTo",
      ]
      Condition = { StringEquals = { "kms:ViaService" = "dynamodb.${data.aws_region.current.id}.amazonaws.com" } }
      Effect    = "Allow"
      Resource  = arn
    }
  ]
}

# Only published items expire.
resource "aws_dynamodb_table" "this" {
  name                        = var.name
  billing_mode                = "PAY_PER_REQUEST"
  deletion_protection_enabled = !var.ephemeral
  hash_key                    = "aggregate"
  range_key                   = "id"
  stream_enabled              = true
  stream_view_type            = "NEW_IMAGE"
  tags                        = var.tags

  dynamic "attribute" {
    for_each = ["aggregate", "id"]

    content {
      name = attribute.value
      type = "S"
    }
  }

  point_in_time_recovery {
    enabled = true
  }

  # Stated without a key, too: the provider keeps the key of a table if the block is removed.
  server_side_encryption {
    enabled     = var.kms_key_arn != null # false: a key that DynamoDB owns
    kms_key_arn = var.kms_key_arn
  }

  ttl {
    attribute_name = "expiration"
    enabled        = true
  }
}

# In transactions alone: a message that is written without the effect would go out without it.
resource "aws_iam_role_policy" "publish" {
  for_each = var.publishers

  name = "publish-${var.name}"
  role = each.value
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat([{
      Action    = "dynamodb:PutItem"
      Condition = { "ForAnyValue:StringEquals" = { "dynamodb:EnclosingOperation" = "TransactWriteItems" } }
      Effect    = "Allow"
      Resource  = aws_dynamodb_table.this.arn
    }], local.key)
  })
}

# Stream positions of messages that Lambda gave up. The messages stay in the table, unmarked.
resource "aws_sqs_queue" "failures" {
  name                      = "${var.name}-failures"
  message_retention_seconds = 1209600
  tags                      = var.tags
}

# As in the module queue: prevent_destroy of the queue itself could not depend on a variable.
resource "terraform_data" "keep_failures" {
  count = var.ephemeral ? 0 : 1

  triggers_replace = aws_sqs_queue.failures.arn

  lifecycle {
    prevent_destroy = true
  }
}

# Requests without TLS are refused.
resource "aws_sqs_queue_policy" "failures" {
  queue_url = aws_sqs_queue.failures.url
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Action    = "sqs:*"
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
      Effect    = "Deny"
      Principal = { AWS = "*" }
      Resource  = aws_sqs_queue.failures.arn
    }]
  })
}

resource "aws_iam_role_policy" "relay" {
  name = "relay-${var.name}"
  role = var.relay.role_name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat([
      {
        Action   = "dynamodb:UpdateItem" # marks what is published
        Effect   = "Allow"
        Resource = aws_dynamodb_table.this.arn
      },
      {
        Action   = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"]
        Effect   = "Allow"
        Resource = aws_dynamodb_table.this.stream_arn
      },
      {
        Action   = ["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"]
        Effect   = "Allow"
        Resource = aws_sqs_queue.failures.arn
      },
    ], local.key)
  })
}

# A batch that fails blocks its shard until it is given up, because later messages must not
# overtake it. An outage of the destination outlasts a few retries.
resource "aws_lambda_event_source_mapping" "this" {
  batch_size                     = 100
  bisect_batch_on_function_error = true
  event_source_arn               = aws_dynamodb_table.this.stream_arn
  function_name                  = var.relay.name
  function_response_types        = ["ReportBatchItemFailures"]
  maximum_record_age_in_seconds  = local.max_age_seconds
  maximum_retry_attempts         = 10000
  parallelization_factor         = 1 # with more, only the writes to one item stay in order
  starting_position              = "TRIM_HORIZON"
  tags                           = var.tags

  destination_config {
    on_failure {
      destination_arn = aws_sqs_queue.failures.arn
    }
  }

  filter_criteria {
    filter {
      pattern = local.unpublished
    }
  }

  # Lambda refuses the mapping if the role may not read the stream.
  depends_on = [aws_iam_role_policy.relay]
}
