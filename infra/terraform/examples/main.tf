# Payments behind an HTTP API, orders behind a queue, and refunds by models with the outbox of their
# messages. Run "make build" first.

module "idempotency" {
  source = "../table"

  name = "${var.name}-idempotency"
}

# --- payments, behind an HTTP API

module "payments" {
  source = "../function"

  name        = "${var.name}-payments"
  environment = { PAYMENTS_TABLE = aws_dynamodb_table.business["charges"].name }
  filename    = "${var.build}/payments/bootstrap.zip"
  operations  = ["create-payment"]
  table       = module.idempotency.table
}

# Everybody may call it. With a JWT authorizer, each subject has keys of its own.
resource "aws_apigatewayv2_api" "payments" {
  name          = "${var.name}-payments"
  protocol_type = "HTTP"
}

resource "aws_apigatewayv2_route" "payments" {
  api_id    = aws_apigatewayv2_api.payments.id
  route_key = "POST /payments"
  target    = "integrations/${aws_apigatewayv2_integration.payments.id}"
}

resource "aws_apigatewayv2_integration" "payments" {
  api_id                 = aws_apigatewayv2_api.payments.id
  integration_type       = "AWS_PROXY"
  integration_uri        = module.payments.invoke_arn
  payload_format_version = "2.0"
}

resource "aws_lambda_permission" "payments" {
  action        = "lambda:InvokeFunction"
  function_name = module.payments.function.name
  principal     = "apigateway.amazonaws.com"
  source_arn    = "${aws_apigatewayv2_api.payments.execution_arn}/*/*/payments"
}

resource "aws_apigatewayv2_stage" "payments" {
  api_id      = aws_apigatewayv2_api.payments.id
  name        = "$default"
  auto_deploy = true

  # Without paths and bodies, which may identify a customer.
  access_log_settings {
    destination_arn = aws_cloudwatch_log_group.access.arn
    format = jsonencode({
      requestId         = "$context.requestId"
      requestTime       = "$context.requestTime"
      sourceIp          = "$context.identity.sourceIp"
      routeKey          = "$context.routeKey"
      protocol          = "$context.protocol"
      status            = "$context.status"
      responseLength    = "$context.responseLength"
      responseLatency   = "$context.responseLatency"
      errorType         = "$context.error.responseType"
      authorizerError   = "$context.authorizer.error"
      functionRequestId = "$context.integration.requestId"
      functionStatus    = "$context.integration.integrationStatus"
      functionLatency   = "$context.integration.latency"
    })
  }

  # A tenth of the AWS limit for all APIs of an account; beyond that, 429.
  default_route_settings {
    throttling_burst_limit = 500
    throttling_rate_limit  = 1000
  }
}

resource "aws_cloudwatch_log_group" "access" {
  name              = "/aws/apigateway/${var.name}-payments"
  retention_in_days = 30
  skip_destroy      = true
}

# --- orders, behind a queue

module "orders" {
  source = "../function"

  name              = "${var.name}-orders"
  environment       = { ORDERS_TABLE = aws_dynamodb_table.business["orders"].name }
  filename          = "${var.build}/orders/bootstrap.zip"
  group_commit      = true
  operations        = ["place-order"]
  retention_seconds = 28 * 24 * 60 * 60 # as in the function: the retention of both queues
  table             = module.idempotency.table
}

module "orders_queue" {
  source = "../queue"

  name              = "${var.name}-orders"
  function          = module.orders.function
  retention_seconds = 14 * 24 * 60 * 60

  depends_on = [aws_iam_role_policy.business] # or the first messages would fail
}

# --- refunds, a tool of models, at a URL whose callers IAM identifies

module "refunds" {
  source = "../function"

  name       = "${var.name}-refunds"
  filename   = "${var.build}/refunds/bootstrap.zip"
  operations = ["refund"]
  table      = module.idempotency.table
  environment = {
    OUTBOX_TABLE  = module.outbox.table.name
    PROVIDER_URL  = "https://provider.example" # replace it
    REFUNDS_TABLE = aws_dynamodb_table.business["refunds"].name
  }
}

resource "aws_lambda_function_url" "refunds" {
  authorization_type = "AWS_IAM"
  function_name      = module.refunds.function.name
}

# --- the outbox of refunds, and the relay of its messages to a queue without a reader

module "outbox" {
  source = "../outbox"

  name       = "${var.name}-outbox"
  publishers = { refunds = module.refunds.function.role_name }
  relay      = module.relay.function
}

module "relay" {
  source = "../function"

  name        = "${var.name}-relay"
  environment = { ORDER_EVENTS_QUEUE = aws_sqs_queue.order_events.url }
  filename    = "${var.build}/relay/bootstrap.zip"
  operations  = []
  table       = module.outbox.table
  timeout     = 30
}

resource "aws_sqs_queue" "order_events" {
  name       = "${var.name}-order-events.fifo"
  fifo_queue = true
}

resource "aws_sqs_queue_policy" "order_events" {
  queue_url = aws_sqs_queue.order_events.url
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Action    = "sqs:*"
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
      Effect    = "Deny"
      Principal = { AWS = "*" }
      Resource  = aws_sqs_queue.order_events.arn
    }]
  })
}

resource "aws_iam_role_policy" "order_events" {
  name = "order-events"
  role = module.relay.function.role_name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Action   = ["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"]
      Effect   = "Allow"
      Resource = aws_sqs_queue.order_events.arn
    }]
  })
}

# --- the tables of payments, orders and refunds

resource "aws_dynamodb_table" "business" {
  for_each = toset(["charges", "orders", "refunds"])

  name         = "${var.name}-${each.key}"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "id"

  attribute {
    name = "id"
    type = "S"
  }

  point_in_time_recovery {
    enabled = true
  }

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_iam_role_policy" "business" {
  for_each = { charges = module.payments.function, orders = module.orders.function }

  name = each.key
  role = each.value.role_name
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Action = "dynamodb:PutItem", Effect = "Allow", Resource = aws_dynamodb_table.business[each.key].arn }]
  })
}

# In transactions alone.
resource "aws_iam_role_policy" "refunds" {
  name = "refunds"
  role = module.refunds.function.role_name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Action    = "dynamodb:PutItem"
      Condition = { "ForAnyValue:StringEquals" = { "dynamodb:EnclosingOperation" = "TransactWriteItems" } }
      Effect    = "Allow"
      Resource  = aws_dynamodb_table.business["refunds"].arn
    }]
  })
}

# --- alarms and a dashboard

module "alarms" {
  source = "../alarms"

  name   = var.name
  notify = [aws_sns_topic.on_call.arn]
  functions = {
    Payments = { function = module.payments.function, http_api_ids = [aws_apigatewayv2_api.payments.id] }
    Orders   = { function = module.orders.function, queues = [module.orders_queue.queue] }
    Refunds  = { function = module.refunds.function, url = true }
  }
  relays = { Relay = module.outbox.relay }
}

data "aws_caller_identity" "current" {}

resource "aws_sns_topic" "on_call" {
  name = "${var.name}-on-call"
}

# A policy replaces the default one, under which CloudWatch may publish.
resource "aws_sns_topic_policy" "on_call" {
  arn = aws_sns_topic.on_call.arn
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "AllowPublishThroughSSLOnly"
        Action    = "sns:Publish"
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
        Effect    = "Deny"
        Principal = "*"
        Resource  = aws_sns_topic.on_call.arn
      },
      {
        Sid       = "AllowAlarms"
        Action    = "sns:Publish"
        Condition = { StringEquals = { "aws:SourceAccount" = data.aws_caller_identity.current.account_id } }
        Effect    = "Allow"
        Principal = { Service = "cloudwatch.amazonaws.com" }
        Resource  = aws_sns_topic.on_call.arn
      },
    ]
  })
}
