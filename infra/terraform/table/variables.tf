variable "ephemeral" {
  description = "Lets Terraform destroy the table, with the logs and the dead-letter queues of its functions. For temporary stages."
  type        = bool
  default     = false
  nullable    = false
}

variable "expiration" {
  description = "Attribute of time to live, as in Options.Layout of package dynamo."
  type        = string
  default     = "expiration"
  nullable    = false
}

variable "kms_key_arn" {
  description = "Customer-managed key that encrypts the table. Default: a key that DynamoDB owns, free of charge."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[^:]+:key/", var.kms_key_arn))
    error_message = "kms_key_arn: it must be the ARN of a key; IAM does not take that of an alias for it."
  }
}

variable "lease" {
  description = "Attribute of the lease, as in Options.Layout of package dynamo. Only resume needs it."
  type        = string
  default     = "in_progress_expiration"
  nullable    = false
}

variable "name" {
  description = "Name of the table."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_.-]{3,255}$", var.name))
    error_message = "name: it must have 3 to 255 letters, digits, _, . and -."
  }
}

variable "partition_key" {
  description = "Name of the partition key."
  type        = string
  default     = "id"
  nullable    = false
}

variable "resume" {
  description = "Adds the index that a function of handlers.Resume reads. Its entries are keys and leases of records in progress; each costs the writes of a claim and of its end once more."
  type        = bool
  default     = false
  nullable    = false
}

variable "sort_key" {
  description = "Makes the keys composite, as Options.Layout.SortKey of package dynamo does. Default: none."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of the table."
  type        = map(string)
  default     = {}
  nullable    = false
}
