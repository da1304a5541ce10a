variable "ephemeral" {
  description = "Lets Terraform destroy the table, with the failure queue and the logs of the relay. For temporary stages."
  type        = bool
  default     = false
  nullable    = false
}

variable "kms_key_arn" {
  description = "Customer-managed key that encrypts the table and its stream. Default: a key that DynamoDB owns, free of charge."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[^:]+:key/", var.kms_key_arn))
    error_message = "kms_key_arn: it must be the ARN of a key; IAM does not take that of an alias for it."
  }
}

variable "name" {
  description = "Name of the table. That of the failure queue ends with -failures."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{3,71}$", var.name))
    error_message = "name: it must have 3 to 71 letters, digits, _ and -, as the failure queue's name is longer."
  }
}

variable "publishers" {
  description = "Names of the roles of functions that publish in their transactions, by names of your choice."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = length(distinct(values(var.publishers))) == length(var.publishers)
    error_message = "publishers: one role has two names, and would lose its policy with either of them."
  }
}

variable "relay" {
  description = "Output function of the module function, or the facts of a function of yours. name may be the ARN of an alias."
  type = object({
    name      = string
    role_name = string
  })
  nullable = false
}

variable "tags" {
  description = "Tags of the table, the failure queue and the event source mapping."
  type        = map(string)
  default     = {}
  nullable    = false
}
