package infra_test

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
)

// A second function finishes what the callers of the first one left behind.
func ExampleNewResume() {
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("Trips"), nil)

	table := infra.NewIdempotencyTable(stack, "Records", &infra.IdempotencyTableProps{Resume: true})
	infra.NewResume(stack, "Resume", &infra.ResumeProps{
		Code:       "build/resume/bootstrap.zip",
		Operations: []string{"book-trip"},
		Table:      table,
	})
}
