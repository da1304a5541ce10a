package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
)

// shared adds a function that is invoked directly, and whose records functions with
// Powertools share. Their prefix is the beginning of its records' ids.
func shared(stack awscdk.Stack, table *infra.IdempotencyTable, build string) *infra.IdempotentFunction {
	const prefix = "shared"
	executions := business(stack, "Executions")
	function := infra.NewIdempotentFunction(stack, "Shared", &infra.IdempotentFunctionProps{
		Code: build + "shared/bootstrap.zip",
		Environment: map[string]string{
			"POWERTOOLS_DIALECT": "typescript",
			"POWERTOOLS_PREFIX":  prefix,
			"SHARED_TABLE":       *executions.TableName(),
		},
		Execute: &infra.ExecuteOptions{Operations: []string{prefix}},
		Table:   table,
	})
	executions.Grants().Actions(function.Function, jsii.String("dynamodb:PutItem"))
	output(stack, "SharedFunction", function.Function.FunctionName())
	return function
}
