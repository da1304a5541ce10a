output "queue" {
  description = "The queue, for the module alarms, and for those that send to it."
  value = {
    arn               = aws_sqs_queue.this.arn
    dead_letters_arn  = local.dead_letters.arn
    dead_letters_name = local.dead_letters.name
    name              = aws_sqs_queue.this.name
    retention_seconds = var.retention_seconds
    url               = aws_sqs_queue.this.url
  }
}
