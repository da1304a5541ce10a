output "relay" {
  description = "The relay, for the module alarms."
  value = {
    failures_arn    = aws_sqs_queue.failures.arn
    failures_name   = aws_sqs_queue.failures.name
    max_age_seconds = local.max_age_seconds
    name            = var.relay.name
  }
}

output "table" {
  description = "The table, for the module function of the relay. Its name is OUTBOX_TABLE of the publishers."
  value = {
    arn       = aws_dynamodb_table.this.arn
    ephemeral = var.ephemeral
    name      = aws_dynamodb_table.this.name
    outbox    = true
  }
}
