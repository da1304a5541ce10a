package main

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/internal/policy"
)

const aboutPolicy = `
Prints the policy of IAM that a role needs on a table in DynamoDB, for accounts
whose roles are made elsewhere. It asks nothing of AWS.

--for names the task: a function (the default), the function of handlers.Resume
(resume), which also scans the index of the table, an operator, who lists, releases
and resolves records, a sweep, or a check, with --function too. For both functions,
--operation confines the policy to the records of these operations, which
excludes keys with Key.Record and tables with a sort key. --group adds the calls
of group commit (dynamo.Options.Group).
`

func printPolicy(_ context.Context, c *cli.Call) error {
	table := c.String("table", "", "the `ARN` of the table")
	key := c.String("key", "", "the `ARN` of the table's customer managed key")
	role := c.String("for", "function", "the `name` of the task: function, resume, operator, sweep or check")
	group := c.Bool("group", false, "allow what group commit calls")
	var operations []string
	c.List("operation", "allow the records of this `operation` alone", &operations)
	if _, err := c.Arguments(0); err != nil {
		return err
	}
	of, err := arn.Parse(*table)
	encrypts, wrongKey := arn.Parse(*key)
	switch {
	case err != nil || of.Service != "dynamodb" || !strings.HasPrefix(of.Resource, "table/") || strings.Count(of.Resource, "/") > 1 || of.Region == "" || of.AccountID == "":
		return cli.Endf(cli.CodeUsage, "set --table to the ARN of a table: a policy needs its Region and its account")
	case *key != "" && (wrongKey != nil || encrypts.Service != "kms" || !strings.HasPrefix(encrypts.Resource, "key/")):
		return cli.Endf(cli.CodeUsage, "--key is not the ARN of a key: in a policy, an alias names none")
	case *role != "function" && *role != "resume" && (*group || operations != nil):
		return cli.Endf(cli.CodeUsage, "--group and --operation are for --for function and --for resume")
	}
	for _, name := range operations {
		if name == "" || strings.ContainsAny(name, "*?$#") {
			return cli.Endf(cli.CodeUsage, "--operation %q is empty, or contains one of *?$#, which have a special meaning in IAM or in the id of a record", name)
		}
	}
	t := policy.Table{ARN: *table, Key: *key}
	prints := map[string]any{
		"function": policy.ForFunction(t, operations, *group), "resume": policy.ForResume(t, operations, *group),
		"operator": policy.ForOperator(t), "sweep": policy.ForSweep(t), "check": policy.ForCheck(t),
	}[*role]
	if prints == nil {
		return cli.Endf(cli.CodeUsage, "--for is none of function, resume, operator, sweep and check")
	}
	return cli.WriteJSON(c.Out, prints)
}
