variable "attach" {
  description = "Puts the policy into the role. If it is false, the module creates nothing, and another team may attach the output policy."
  type        = bool
  default     = true
  nullable    = false
}

variable "group_commit" {
  description = "Allows the additional calls of a store with dynamo.Options.Group."
  type        = bool
  default     = false
  nullable    = false
}

variable "operations" {
  description = "Restricts the role to the records of these operations, by a condition on the partition key. Null: all records, as keys with Key.Record and tables with a sort key need."
  type        = list(string)
  default     = null

  validation {
    condition     = var.operations == null ? true : length(var.operations) > 0
    error_message = "operations: the list is empty, which would allow nothing; null allows all records."
  }

  validation {
    condition     = var.operations == null ? true : alltrue([for operation in var.operations : can(regex("^[^*?$#]+$", operation))])
    error_message = "operations: one is empty, or contains one of *?$#, which have a special meaning in IAM or in the ID of a record."
  }
}

variable "policy_name" {
  description = "Name of the policy in the role. Two calls for one role need two, or they overwrite each other. Default: idempotency."
  type        = string
  default     = "idempotency"
  nullable    = false
}

variable "resume" {
  description = "The function is one of handlers.Resume, and also scans the index of the table."
  type        = bool
  default     = false
  nullable    = false
}

variable "role_name" {
  description = "Name of the function's role. It is required, unless attach is false."
  type        = string
  default     = null
}

variable "table" {
  description = "Output table of the module table, or name and ARN of a table of yours."
  type = object({
    arn         = string
    kms_key_arn = optional(string)
    name        = string
    resume      = optional(bool, false)
    sort_key    = optional(string)
  })
  nullable = false

  validation {
    condition     = var.table.kms_key_arn == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[^:]+:key/", var.table.kms_key_arn))
    error_message = "table: kms_key_arn must be the ARN of a key; IAM does not take that of an alias for it."
  }
}
