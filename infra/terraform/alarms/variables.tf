variable "dashboard" {
  description = "Also creates a dashboard."
  type        = bool
  default     = true
  nullable    = false
}

variable "functions" {
  description = "What to watch, by the name that alarms and graphs show: the output of the module function or the facts of a function of yours, the outputs of the module queue, the ids of HTTP APIs, and whether it has a function URL. Default: none."
  type = map(object({
    function = object({
      metrics    = optional(bool, true)
      name       = string
      operations = list(string)
    })
    http_api_ids = optional(list(string), [])
    queues = optional(list(object({
      dead_letters_name = string
      name              = string
      retention_seconds = number
    })), [])
    url = optional(bool, false)
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue(flatten([for watched in var.functions : [for operation in watched.function.operations : can(regex("^[ -9;-~][ -~]{0,254}$", operation)) && trimspace(operation) != ""]]))
    error_message = "functions: CloudWatch requires 1 to 255 ASCII characters of an operation, not all blank, and no colon at its beginning."
  }
}

variable "name" {
  description = "Name of the dashboard, and the beginning of the names of the alarms. Dashboards are global: a second Region with the same name overwrites the dashboard of the first."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,200}$", var.name))
    error_message = "name: it must have 1 to 200 letters, digits, _ and -."
  }
}

variable "notify" {
  description = "ARNs of the topics that are notified when an alarm of any severity rings, and when it returns to OK. The policy of a topic must allow CloudWatch to publish. Default: none, so that alarms are visible only in the console."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "page" {
  description = "ARNs of further topics, for the alarms that need a person now. Default: none."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "relays" {
  description = "The relays to watch, by the name that alarms and graphs show: outputs relay of the module outbox, or the facts of a relay of yours. None has the name of a function. Default: none."
  type = map(object({
    failures_name   = string
    max_age_seconds = number
    name            = string
  }))
  default  = {}
  nullable = false
}

variable "tags" {
  description = "Tags of the alarms."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "thresholds" {
  description = "From which numbers alarms ring: counts in 5 min, percent of calls (conflict_percent; duplicate_percent, without which no alarm watches the share of duplicates), or seconds (outbox_age_seconds: by default 5 min; queue_age_seconds: by default 1 h; or half of the age at which a message disappears). Default: those of alarms.json."
  type = object({
    conflict_percent   = optional(number)
    duplicate_percent  = optional(number)
    errors             = optional(number)
    lapsed_leases      = optional(number)
    mismatches         = optional(number)
    outbox_age_seconds = optional(number)
    queue_age_seconds  = optional(number)
    refusals           = optional(number)
    server_errors      = optional(number)
    takeovers          = optional(number)
    throttles          = optional(number)
  })
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for share in [var.thresholds.conflict_percent, var.thresholds.duplicate_percent] : share == null ? true : share >= 0 && share <= 100])
    error_message = "thresholds: conflict_percent and duplicate_percent must be 0 to 100."
  }

  validation {
    condition     = alltrue([for threshold in values(var.thresholds) : threshold == null ? true : threshold >= 0])
    error_message = "thresholds: one is negative."
  }
}

variable "ticket" {
  description = "ARNs of further topics, for the alarms that can wait for working hours. Default: none."
  type        = list(string)
  default     = []
  nullable    = false
}
