variable "batch_size" {
  description = "Maximum number of messages of an invocation: 1 to 10,000, or to 10 for a FIFO queue. More than 10 need batching_window_seconds."
  type        = number
  default     = 10
  nullable    = false

  validation {
    condition     = var.batch_size >= 1 && var.batch_size <= 10000 && floor(var.batch_size) == var.batch_size
    error_message = "batch_size: it must be 1 to 10,000."
  }
}

variable "batching_window_seconds" {
  description = "Time for which Lambda gathers a batch, at most 5 min. FIFO queues have none."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.batching_window_seconds >= 0 && var.batching_window_seconds <= 300 && floor(var.batching_window_seconds) == var.batching_window_seconds
    error_message = "batching_window_seconds: it must be 0 to 300 whole seconds."
  }
}

variable "dead_letter_retention_seconds" {
  description = "Retention of the dead-letter queue, 1 min to 14 days. Not less than retention_seconds: a message keeps its age when it moves, but not in a FIFO queue."
  type        = number
  default     = 1209600
  nullable    = false

  validation {
    condition     = var.dead_letter_retention_seconds >= 60 && var.dead_letter_retention_seconds <= 1209600 && floor(var.dead_letter_retention_seconds) == var.dead_letter_retention_seconds
    error_message = "dead_letter_retention_seconds: it must be whole seconds, 1 min to 14 days."
  }
}

variable "existing" {
  description = "A queue of yours and its dead-letter queue in place of new ones: two aws_sqs_queue, or their facts, which are not checked. fifo, max_receives and the retentions of this module are then ignored. Default: the module creates both."
  type = object({
    dead_letters = object({
      arn                       = string
      message_retention_seconds = number
      name                      = string
    })
    queue = object({
      arn                        = string
      fifo_queue                 = optional(bool, false)
      message_retention_seconds  = number
      name                       = string
      url                        = optional(string)
      visibility_timeout_seconds = number
    })
  })
  default = null
}

variable "fifo" {
  description = "Makes the queue and its dead-letter queue FIFO."
  type        = bool
  default     = false
  nullable    = false
}

variable "function" {
  description = "Output function of the module function, or the facts of a function of yours. name may be the ARN of an alias. retention_seconds is Config.Retention of its code."
  type = object({
    ephemeral         = optional(bool, false)
    name              = string
    retention_seconds = number
    role_name         = string
    timeout           = number
  })
  nullable = false
}

variable "max_concurrency" {
  description = "Maximum number of concurrent invocations, 2 to 1,000. Default: only the account's limit."
  type        = number
  default     = null

  validation {
    condition     = var.max_concurrency == null ? true : var.max_concurrency >= 2 && var.max_concurrency <= 1000 && floor(var.max_concurrency) == var.max_concurrency
    error_message = "max_concurrency: it must be 2 to 1,000."
  }
}

variable "max_receives" {
  description = "Number of times that a message is received before it moves to the dead-letter queue: 2 to 1,000. AWS advises at least 5."
  type        = number
  default     = 5
  nullable    = false

  validation {
    condition     = var.max_receives >= 2 && var.max_receives <= 1000 && floor(var.max_receives) == var.max_receives
    error_message = "max_receives: it must be 2 to 1,000."
  }
}

variable "name" {
  description = "Name of the queue, without the ending .fifo. That of the dead-letter queue ends with -dead-letters. For an existing queue, the end of the name of a policy."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,62}$", var.name))
    error_message = "name: it must have 1 to 62 letters, digits, _ and -, as the dead-letter queue's name is longer."
  }
}

variable "retention_seconds" {
  description = "How long the queue keeps a message, 1 min to 14 days. Default: 4 days, which is SQS's."
  type        = number
  default     = 345600
  nullable    = false

  validation {
    condition     = var.retention_seconds >= 60 && var.retention_seconds <= 1209600 && floor(var.retention_seconds) == var.retention_seconds
    error_message = "retention_seconds: it must be whole seconds, 1 min to 14 days."
  }
}

variable "tags" {
  description = "Tags of both queues and of the event source mapping."
  type        = map(string)
  default     = {}
  nullable    = false
}
