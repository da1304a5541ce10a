output "policy" {
  description = "The policy as JSON."
  value       = aws_iam_role_policy.this.policy
}
