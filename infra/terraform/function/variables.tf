variable "environment" {
  description = "Variables beside IDEMPOTENCY_TABLE, ONCE_METRICS and AWS_LAMBDA_LOG_LEVEL."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for name in keys(var.environment) : can(regex("^[A-Za-z][A-Za-z0-9_]+$", name))])
    error_message = "environment: a name is a letter followed by at least one letter, digit or _."
  }

  validation {
    condition     = alltrue([for name in ["AWS_LAMBDA_LOG_LEVEL", "IDEMPOTENCY_TABLE", "ONCE_METRICS"] : !contains(keys(var.environment), name)])
    error_message = "environment: AWS_LAMBDA_LOG_LEVEL, IDEMPOTENCY_TABLE and ONCE_METRICS are set by this module."
  }

  validation {
    condition     = !contains(keys(var.environment), "ONCE_DISABLED")
    error_message = "environment: ONCE_DISABLED is for unit tests of a handler; in a deployment, every duplicate would run."
  }

  validation {
    condition = alltrue([for name in [
      "AWS_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_DEFAULT_REGION", "AWS_EXECUTION_ENV", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
      "AWS_LAMBDA_FUNCTION_NAME", "AWS_LAMBDA_FUNCTION_VERSION", "AWS_LAMBDA_INITIALIZATION_TYPE", "AWS_LAMBDA_LOG_GROUP_NAME",
      "AWS_LAMBDA_LOG_STREAM_NAME", "AWS_LAMBDA_RUNTIME_API", "AWS_REGION", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
      "LAMBDA_RUNTIME_DIR", "LAMBDA_TASK_ROOT",
    ] : !contains(keys(var.environment), name)])
    error_message = "environment: one is reserved by Lambda, which sets it."
  }
}

variable "filename" {
  description = "Path of a zip with an executable \"bootstrap\" for arm64. The command local/cmd/lambdazip writes such a zip."
  type        = string
  nullable    = false
}

variable "group_commit" {
  description = "Allows the additional calls of a store with dynamo.Options.Group."
  type        = bool
  default     = false
  nullable    = false
}

variable "log_level" {
  description = "Value of AWS_LAMBDA_LOG_LEVEL: DEBUG, INFO, WARN or ERROR."
  type        = string
  default     = "INFO"
  nullable    = false

  validation {
    condition     = contains(["DEBUG", "INFO", "WARN", "ERROR"], var.log_level)
    error_message = "log_level: it must be DEBUG, INFO, WARN or ERROR."
  }
}

variable "log_retention_days" {
  description = "Retention of the logs in days. 0: forever."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = contains([0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_days)
    error_message = "log_retention_days: CloudWatch has no such retention."
  }
}

variable "memory_size" {
  description = "Memory in MiB, 128 to 10,240."
  type        = number
  default     = 256
  nullable    = false

  validation {
    condition     = var.memory_size >= 128 && var.memory_size <= 10240 && floor(var.memory_size) == var.memory_size
    error_message = "memory_size: it must be 128 to 10,240 MiB."
  }
}

variable "metrics" {
  description = "Sets ONCE_METRICS, with which a function without a Config.Observer writes its metrics into the log. Without it, the module alarms makes no alarms and graphs of its operations."
  type        = bool
  default     = true
  nullable    = false
}

variable "name" {
  description = "Name of the function, of its role and of its log group. Roles are global, so each Region of an account needs its own."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,64}$", var.name))
    error_message = "name: it must have 1 to 64 letters, digits, _ and -."
  }
}

variable "operations" {
  description = "Names that the function's code passes to idempotent.New. The function may only access their records, and the module alarms watches them. Empty for the relay of an outbox."
  type        = list(string)
  nullable    = false

  validation {
    condition     = length(distinct(var.operations)) == length(var.operations)
    error_message = "operations: the list names one twice."
  }

  validation {
    condition     = alltrue([for operation in var.operations : can(regex("^[ -9;-~][ -~]{0,254}$", operation)) && trimspace(operation) != ""])
    error_message = "operations: CloudWatch requires 1 to 255 ASCII characters of a dimension, not all blank, and no colon at its beginning."
  }
}

variable "restrict_to_operations" {
  description = "Set it to false if keys have Key.Record, or if the table has a sort key. The function may then access all records of the table."
  type        = bool
  default     = true
  nullable    = false
}

variable "resume" {
  description = "The function is one of handlers.Resume: it also scans the index of the table, and one round runs at a time. The module resume makes its schedule."
  type        = bool
  default     = false
  nullable    = false
}

variable "retention_seconds" {
  description = "Config.Retention of the function's code, which the module queue compares with its retentions. Default: 24 h, that of package idempotent."
  type        = number
  default     = 86400
  nullable    = false

  validation {
    condition     = var.retention_seconds > 0
    error_message = "retention_seconds: it must be positive."
  }
}

variable "table" {
  description = "Output table of the module table, or name and ARN of a table of yours. That of the module outbox makes the function its relay: it gets OUTBOX_TABLE, and no records."
  type = object({
    arn         = string
    ephemeral   = optional(bool, false)
    kms_key_arn = optional(string)
    name        = string
    outbox      = optional(bool, false)
    resume      = optional(bool, false)
    sort_key    = optional(string)
  })
  nullable = false
}

variable "tags" {
  description = "Tags of the function, its role and its log group."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "timeout" {
  description = "Timeout of an invocation in seconds, 1 to 900."
  type        = number
  default     = 10
  nullable    = false

  validation {
    condition     = var.timeout >= 1 && var.timeout <= 900 && floor(var.timeout) == var.timeout
    error_message = "timeout: it must be 1 to 900 whole seconds."
  }
}
