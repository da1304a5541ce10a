terraform {
  required_version = ">= 1.6"

  required_providers {
    aws = { source = "hashicorp/aws", version = ">= 5.73, < 7.0" }
  }
}
