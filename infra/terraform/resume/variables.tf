variable "function" {
  description = "Output function of the module function with resume, or the facts of a function of yours. Its operations have alarms."
  type = object({
    arn        = string
    name       = string
    operations = list(string)
    resume     = optional(bool, false)
    timeout    = number
  })
  nullable = false
}

variable "interval_minutes" {
  description = "Minutes between the starts of two rounds, 1 to 60. An alarm rings at two intervals and 20 min."
  type        = number
  default     = 5
  nullable    = false

  validation {
    condition     = var.interval_minutes >= 1 && var.interval_minutes <= 60 && floor(var.interval_minutes) == var.interval_minutes
    error_message = "interval_minutes: it must be 1 to 60 whole minutes."
  }
}

variable "notify" {
  description = "ARNs of the topics that the alarms notify."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "tags" {
  description = "Tags of the schedule and the alarms."
  type        = map(string)
  default     = {}
  nullable    = false
}
