variable "build" {
  description = "Folder of the zips that \"make build\" writes."
  type        = string
  default     = "../../../build"
}

variable "name" {
  description = "Beginning of all names. Each stage and Region of an account needs its own."
  type        = string
  default     = "once-examples"
}
