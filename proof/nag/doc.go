// Package nag tests the app of the examples with the rule packs AwsSolutions and
// Serverless of cdk-nag, and with cfn-lint where it is installed.
package nag
