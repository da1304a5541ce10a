output "table" {
  description = "The table, for the modules access and function."
  value = {
    arn         = aws_dynamodb_table.this.arn
    ephemeral   = var.ephemeral
    kms_key_arn = var.kms_key_arn
    name        = aws_dynamodb_table.this.name
    resume      = var.resume
    sort_key    = var.sort_key
  }
}
