// Package terraform reads the Terraform modules of infra/terraform without Terraform,
// AWS or its provider. [Evaluate] computes every resource of a configuration, as a plan
// does, and [Configuration.CloudFormation] writes them as a template, so that the rules
// of infra's deployments judge them. [Provider] has the arguments of the resources, read from
// the types of the npm package @cdktf/provider-aws.
package terraform
