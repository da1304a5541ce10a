locals {
  metrics = var.metrics && !var.table.outbox
}

resource "aws_cloudwatch_log_group" "this" {
  name              = "/aws/lambda/${var.name}"
  retention_in_days = var.log_retention_days
  skip_destroy      = !var.table.ephemeral
  tags              = var.tags
}

resource "aws_iam_role" "this" {
  name = var.name
  tags = var.tags
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Action    = "sts:AssumeRole"
      Effect    = "Allow"
      Principal = { Service = "lambda.amazonaws.com" }
    }]
  })
}

resource "aws_iam_role_policy" "logs" {
  name = "logs"
  role = aws_iam_role.this.name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
      Effect   = "Allow"
      Resource = "${aws_cloudwatch_log_group.this.arn}:*"
    }]
  })
}

# A relay has no records; the module outbox allows it what it needs.
module "access" {
  source = "../access"
  count  = var.table.outbox ? 0 : 1

  group_commit = var.group_commit
  operations   = var.restrict_to_operations ? var.operations : null
  resume       = var.resume
  role_name    = aws_iam_role.this.name
  table        = var.table
}

resource "aws_lambda_function" "this" {
  function_name    = var.name
  architectures    = ["arm64"]
  filename         = var.filename
  handler          = "bootstrap"
  memory_size      = var.memory_size
  role             = aws_iam_role.this.arn
  runtime          = "provided.al2023"
  source_code_hash = filebase64sha256(var.filename)
  tags             = var.tags
  timeout          = var.timeout

  reserved_concurrent_executions = var.resume ? 1 : -1 # one round at a time

  environment {
    variables = merge(var.environment, local.metrics ? { ONCE_METRICS = "emf" } : {}, {
      AWS_LAMBDA_LOG_LEVEL = var.log_level

      (var.table.outbox ? "OUTBOX_TABLE" : "IDEMPOTENCY_TABLE") = var.table.name
    })
  }

  logging_config {
    log_format = "Text" # package emf writes its own JSON
    log_group  = aws_cloudwatch_log_group.this.name
  }

  # The first call would be refused, or leave no log.
  depends_on = [aws_iam_role_policy.logs, module.access]

  lifecycle {
    precondition {
      condition     = var.table.outbox == (length(var.operations) == 0)
      error_message = "operations: name those of the code; the relay of an outbox, and no other function, has none."
    }
  }
}
