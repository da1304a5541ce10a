locals {
  ending       = var.fifo ? ".fifo" : ""
  fifo         = var.fifo ? true : null # SQS refuses false
  queue        = one(concat(aws_sqs_queue.this, var.existing[*].queue))
  dead_letters = one(concat(aws_sqs_queue.dead_letters, var.existing[*].dead_letters))

  # Facts of the queues.
  is_fifo               = var.existing == null ? var.fifo : var.existing.queue.fifo_queue
  retention             = var.existing == null ? var.retention_seconds : var.existing.queue.message_retention_seconds
  dead_letter_retention = var.existing == null ? var.dead_letter_retention_seconds : var.existing.dead_letters.message_retention_seconds

  # A message moves to the dead-letter queue at the last moment, and is sent back at the last
  # moment. It keeps its age when it moves, but not in a FIFO queue.
  late = local.dead_letter_retention + local.retention * (local.is_fifo ? 2 : 1)

  # As AWS advises.
  visibility = 6 * var.function.timeout + var.batching_window_seconds
}

# It contains the last copy of a message.
resource "aws_sqs_queue" "dead_letters" {
  count = var.existing == null ? 1 : 0

  name                      = "${var.name}-dead-letters${local.ending}"
  fifo_queue                = local.fifo
  message_retention_seconds = var.dead_letter_retention_seconds
  tags                      = var.tags
}

# Terraform refuses a plan that destroys or replaces the dead-letter queue, because this goes
# with it. In the queue, prevent_destroy could not depend on a variable, and a second queue
# for ephemeral stages would be destroyed when the stage becomes a lasting one.
resource "terraform_data" "keep_dead_letters" {
  count = var.existing == null && !var.function.ephemeral ? 1 : 0

  triggers_replace = local.dead_letters.arn

  lifecycle {
    prevent_destroy = true
  }
}

# What an ephemeral stage had before.
moved {
  from = aws_sqs_queue.ephemeral_dead_letters
  to   = aws_sqs_queue.dead_letters
}

resource "aws_sqs_queue" "this" {
  count = var.existing == null ? 1 : 0

  name                       = "${var.name}${local.ending}"
  fifo_queue                 = local.fifo
  message_retention_seconds  = var.retention_seconds
  visibility_timeout_seconds = local.visibility
  tags                       = var.tags
  redrive_policy = jsonencode({
    deadLetterTargetArn = local.dead_letters.arn
    maxReceiveCount     = var.max_receives
  })
}

# Requests without TLS are refused. An existing queue has a policy of its own.
resource "aws_sqs_queue_policy" "this" {
  for_each = { for name, queue in { queue = local.queue, dead_letters = local.dead_letters } : name => queue if var.existing == null }

  queue_url = each.value.url
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Action    = "sqs:*"
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
      Effect    = "Deny"
      Principal = { AWS = "*" }
      Resource  = each.value.arn
    }]
  })
}

resource "aws_iam_role_policy" "receive" {
  name = "receive-${var.name}"
  role = var.function.role_name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Action   = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ReceiveMessage"]
      Effect   = "Allow"
      Resource = local.queue.arn
    }]
  })
}

resource "aws_lambda_event_source_mapping" "this" {
  batch_size                         = var.batch_size
  event_source_arn                   = local.queue.arn
  function_name                      = var.function.name
  function_response_types            = ["ReportBatchItemFailures"]
  maximum_batching_window_in_seconds = var.batching_window_seconds > 0 ? var.batching_window_seconds : null
  tags                               = var.tags

  dynamic "scaling_config" {
    for_each = var.max_concurrency == null ? [] : [var.max_concurrency]

    content {
      maximum_concurrency = scaling_config.value
    }
  }

  # Lambda refuses the mapping if the role may not receive.
  depends_on = [aws_iam_role_policy.receive]

  lifecycle {
    precondition {
      condition     = !local.is_fifo || var.batch_size <= 10
      error_message = "batch_size: that of a FIFO queue is 1 to 10."
    }

    precondition {
      condition     = var.batch_size <= 10 || local.is_fifo || var.batching_window_seconds >= 1
      error_message = "batching_window_seconds: a batch_size of more than 10 needs at least 1 s."
    }

    precondition {
      condition     = !local.is_fifo || var.batching_window_seconds == 0
      error_message = "batching_window_seconds: FIFO queues have none."
    }

    precondition {
      condition     = local.visibility <= 43200
      error_message = "batching_window_seconds: with six of the function's timeouts it is ${local.visibility} s, more than the 12 h that SQS hides a message."
    }

    precondition {
      condition     = var.existing == null ? true : var.existing.queue.visibility_timeout_seconds >= local.visibility
      error_message = "existing: the queue hides a message for less than ${local.visibility} s, six of the function's timeouts plus batching_window_seconds."
    }

    precondition {
      condition     = local.is_fifo || local.dead_letter_retention >= local.retention
      error_message = "dead_letter_retention_seconds: it is less than retention_seconds; a message keeps its age when it moves, and an old one would be gone at once."
    }

    precondition {
      condition     = var.function.retention_seconds >= local.late
      error_message = "retention_seconds: a message may come ${local.late} s late, but its record expires after ${var.function.retention_seconds} s. Raise Config.Retention of the code and retention_seconds of the function, or lower the retentions of the queues."
    }
  }
}
