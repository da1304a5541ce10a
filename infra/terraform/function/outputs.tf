output "function" {
  description = "The function, for the modules queue, alarms, resume and outbox."
  value = {
    arn               = aws_lambda_function.this.arn
    ephemeral         = var.table.ephemeral
    metrics           = local.metrics
    name              = aws_lambda_function.this.function_name
    operations        = var.operations
    resume            = var.resume
    retention_seconds = var.retention_seconds
    role_name         = aws_iam_role.this.name
    timeout           = var.timeout
  }
}

output "invoke_arn" {
  description = "ARN for an integration of API Gateway."
  value       = aws_lambda_function.this.invoke_arn
}
