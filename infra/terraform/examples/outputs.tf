output "idempotency_table" {
  description = "Name of the table of the records."
  value       = module.idempotency.table.name
}

output "on_call_topic" {
  description = "ARN of the topic that alarms notify."
  value       = aws_sns_topic.on_call.arn
}

output "order_events_queue" {
  description = "URL of the queue of the messages of refunds."
  value       = aws_sqs_queue.order_events.url
}

output "orders_queue" {
  description = "URL of the queue of the orders."
  value       = module.orders_queue.queue.url
}

output "payments_url" {
  description = "Where to send payments."
  value       = "${aws_apigatewayv2_api.payments.api_endpoint}/payments"
}

output "refunds_url" {
  description = "Where models ask for refunds, with requests that IAM signs."
  value       = aws_lambda_function_url.refunds.function_url
}
