package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"

	"github.com/lambda-once/once/infra"
)

// transfer adds a function that is invoked directly.
func transfer(stack awscdk.Stack, table *infra.IdempotencyTable, build string) *infra.IdempotentFunction {
	accounts := business(stack, "Accounts")
	function := infra.NewIdempotentFunction(stack, "Transfer", &infra.IdempotentFunctionProps{
		Code:        build + "transfer/bootstrap.zip",
		Environment: map[string]string{"ACCOUNTS_TABLE": *accounts.TableName()},
		Execute:     &infra.ExecuteOptions{Operations: []string{"transfer"}, Transactions: true},
		Table:       table,
	})
	infra.GrantTransact(function.Function, accounts, infra.TransactUpdate)
	output(stack, "AccountsTable", accounts.TableName())
	output(stack, "TransferFunction", function.Function.FunctionName())
	return function
}
