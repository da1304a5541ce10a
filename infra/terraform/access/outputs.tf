output "policy" {
  description = "The policy as JSON, also if attach is false."
  value       = local.policy

  precondition {
    condition     = var.operations == null || var.table.sort_key == null
    error_message = "operations: the partition key of a table with a sort key does not contain the operation, so that IAM cannot distinguish operations."
  }

  precondition {
    condition     = !var.resume || var.table.resume
    error_message = "resume: the table has no index of leases, and each round would read the whole table; set resume of the module table."
  }
}
