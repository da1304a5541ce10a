mock_provider "aws" {}

variables {
  name = "pay"
}

run "a_temporary_stage" {
  variables {
    function = { name = "pay", role_name = "pay", timeout = 10, retention_seconds = 18 * 86400, ephemeral = true }
  }

  assert {
    condition     = length(terraform_data.keep_dead_letters) == 0
    error_message = "The queues of an ephemeral stage go with it."
  }
}

# Terraform knows a queue by its address: with a second one, it would be destroyed with its
# messages.
run "becomes_a_lasting_one" {
  command = plan

  variables {
    function = { name = "pay", role_name = "pay", timeout = 10, retention_seconds = 18 * 86400 }
  }

  assert {
    condition     = output.queue.dead_letters_arn == run.a_temporary_stage.queue.dead_letters_arn && length(terraform_data.keep_dead_letters) == 1
    error_message = "The dead-letter queue stays, and Terraform now keeps it."
  }
}
