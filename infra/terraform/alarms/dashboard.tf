data "aws_region" "current" {}

locals {
  operation_rows = [
    for operation in local.operations : {
      heading = "# ${operation}\nOutcomes, duplicates, and the cost of idempotency."
      graphs = [
        {
          title   = "Calls by outcome"
          metrics = [for outcome in local.catalog.outcomes : ["Once", "Calls", "operation", operation, "outcome", outcome, { label = outcome, stat = "Sum" }]]
        },
        {
          title = "Share of calls, percent"
          metrics = [
            [{ label = "duplicates", expression = "100 * (FILL(replayed, 0) + FILL(conflict, 0)) / calls" }],
            ["Once", "Calls", "operation", operation, { id = "calls", visible = false, stat = "Sum" }],
            ["Once", "Calls", "operation", operation, "outcome", "conflict", { id = "conflict", visible = false, stat = "Sum" }],
            ["Once", "Calls", "operation", operation, "outcome", "replayed", { id = "replayed", visible = false, stat = "Sum" }],
            [{ label = "conflicts", expression = "100 * (FILL(conflict, 0)) / calls" }],
          ]
        },
        {
          title = "Needs a look"
          metrics = concat(
            [
              for outcome in local.catalog.alarming :
              ["Once", "Calls", "operation", operation, "outcome", outcome, { label = outcome, stat = "Sum" }]
            ],
            [["Once", "LapsedLeases", "operation", operation, { label = "lapsed leases", stat = "Sum" }]],
          )
        },
        {
          title = "Added by idempotency, ms"
          metrics = [
            ["Once", "Overhead", "operation", operation, { label = "half of the calls, at most", stat = "p50" }],
            ["Once", "Overhead", "operation", operation, { label = "99 %, at most", stat = "p99" }],
          ]
        },
        {
          title   = "Round trips to the store, mean of a call"
          metrics = [["Once", "RoundTrips", "operation", operation]]
        },
        {
          title = "Refused, by reason"
          metrics = concat(
            [["Once", "Refused", "operation", operation, { label = "refused", stat = "Sum" }]],
            [for reason in local.catalog.reasons : ["Once", "Refused", "operation", operation, "reason", reason, { label = reason, stat = "Sum" }]],
          )
        },
        {
          title = "Store"
          metrics = [
            ["Once", "StoreErrors", "operation", operation, { stat = "Sum" }],
            ["Once", "StoreThrottles", "operation", operation, { stat = "Sum" }],
          ]
        },
      ]
    }
  ]

  function_rows = [
    for name, watched in var.functions : {
      heading = "# ${name}\nInvocations, waiting events, and events that were given up."
      graphs = [
        for graph in [
          {
            title = local.catalog.function.Errors.graph
            metrics = concat(
              [
                ["AWS/Lambda", "Errors", "FunctionName", local.function_names[name], { stat = "Sum" }],
                ["AWS/Lambda", "Throttles", "FunctionName", local.function_names[name], { stat = "Sum" }],
              ],
              [for id in watched.http_api_ids : ["AWS/ApiGateway", "5xx", "ApiId", id, { stat = "Sum" }]],
              [for function in [local.function_names[name]] : ["AWS/Lambda", local.url_errors.metric, "FunctionName", function, { stat = "Sum" }] if watched.url],
            )
          },
          {
            title   = local.catalog.function.DeadLetters.graph
            metrics = [for queue in watched.queues : ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", queue.dead_letters_name, { stat = "Maximum" }]]
          },
          {
            title   = local.catalog.function.QueueAge.graph
            metrics = [for queue in watched.queues : ["AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", queue.name, { stat = "Maximum" }]]
          },
        ] : graph if length(graph.metrics) > 0
      ]
    }
  ]

  relay_rows = [
    for name, relay in var.relays : {
      heading = "# ${name}\nPublished messages, and messages that were given up."
      graphs = [
        {
          title   = local.catalog.function.Errors.graph
          metrics = [for metric in ["Errors", "Throttles"] : ["AWS/Lambda", metric, "FunctionName", local.function_names[name], { stat = "Sum" }]]
        },
        {
          title   = local.catalog.relay.Failures.graph
          metrics = [["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", relay.failures_name, { stat = "Maximum" }]]
        },
        {
          title   = local.catalog.relay.IteratorAge.graph
          metrics = [["AWS/Lambda", "IteratorAge", "FunctionName", local.function_names[name], { stat = "Maximum" }]]
        },
      ]
    }
  ]
}

# CloudWatch places widgets without coordinates from left to right. A heading fills its row.
resource "aws_cloudwatch_dashboard" "this" {
  count = var.dashboard ? 1 : 0

  dashboard_name = var.name
  dashboard_body = jsonencode({
    widgets = flatten([
      for row in concat(local.operation_rows, local.function_rows, local.relay_rows) : [
        [{ type = "text", width = 24, height = 2, properties = { markdown = row.heading } }],
        [
          for graph in row.graphs : {
            type   = "metric"
            width  = 8
            height = 6
            properties = {
              view    = "timeSeries"
              title   = graph.title
              region  = data.aws_region.current.id
              metrics = graph.metrics
              yAxis   = { left = { min = 0 } }
            }
          }
        ],
      ]
    ])
  })
}
