package infra_test

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
<<<<<<< HEAD
=======
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
>>>>>>> b1f68202 (docs: show how a resumer is deployed)
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
)

<<<<<<< HEAD
// A second function finishes what the callers of the first one left behind.
func ExampleNewResume() {
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("Trips"), nil)

	table := infra.NewIdempotencyTable(stack, "Records", &infra.IdempotencyTableProps{Resume: true})
	infra.NewResume(stack, "Resume", &infra.ResumeProps{
		Code:       "build/resume/bootstrap.zip",
=======
// A function of handlers.Resume that finishes the work of another one, whose Config.Resume is set.
func ExampleNewResume() {
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("Trips"), nil)
	onCall := infra.NewAlarmTopic(stack, "OnCall", nil)

	table := infra.NewIdempotencyTable(stack, "Records", &infra.IdempotencyTableProps{Resume: true})
	infra.NewIdempotentFunction(stack, "Book", &infra.IdempotentFunctionProps{Code: "build/book/bootstrap.zip", Table: table})
	infra.NewResume(stack, "Resume", &infra.ResumeProps{
		Code:       "build/resume/bootstrap.zip",
		Notify:     []awssns.ITopic{onCall},
>>>>>>> b1f68202 (docs: show how a resumer is deployed)
		Operations: []string{"book-trip"},
		Table:      table,
	})
}
