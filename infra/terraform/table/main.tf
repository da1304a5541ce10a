# Lost records mean repeated work: hence backups and deletion protection. The protection is
# that of DynamoDB, so it also holds after the module is removed from a configuration.
resource "aws_dynamodb_table" "this" {
  name                        = var.name
  billing_mode                = "PAY_PER_REQUEST"
  deletion_protection_enabled = !var.ephemeral
  hash_key                    = var.partition_key
  range_key                   = var.sort_key
  tags                        = var.tags

  dynamic "attribute" {
    for_each = compact([var.partition_key, var.sort_key])

    content {
      name = attribute.value
      type = "S"
    }
  }

  # For handlers.Resume: records in progress alone have a lease.
  dynamic "attribute" {
    for_each = var.resume ? [var.lease] : []

    content {
      name = attribute.value
      type = "N"
    }
  }

  dynamic "global_secondary_index" {
    for_each = var.resume ? [var.lease] : []

    content {
      name            = "lapsed"
      hash_key        = global_secondary_index.value
      projection_type = "KEYS_ONLY"
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
    attribute_name = var.expiration
    enabled        = true
  }

  lifecycle {
    precondition {
      condition     = length(distinct(compact([var.partition_key, var.sort_key, var.expiration, var.lease]))) == (var.sort_key == null ? 3 : 4)
      error_message = "partition_key, sort_key, expiration, lease: they must be different attributes."
    }
  }
}
