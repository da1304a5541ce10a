output "queue" {
  description = "The queue, for the module alarms, and for those that send to it."
  value = {
    arn               = local.queue.arn
    dead_letters_arn  = local.dead_letters.arn
    dead_letters_name = local.dead_letters.name
    name              = local.queue.name
    retention_seconds = local.retention
    url               = local.queue.url
  }
}
