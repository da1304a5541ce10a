package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra"
	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/fake"
	"github.com/lambda-once/once/infra/internal/template"
)

// The part of template.yaml that is commented out deploys what the construct does.
func TestSAMOfAResumerIsTheConstruct(t *testing.T) {
	text := read(t, "../../../template.yaml")
	check.Equal(t, strings.Count(text, "# resume: ") > 30, true)
	got := included(t, strings.ReplaceAll(text, "# resume: ", ""))

	build := t.TempDir()
	check.Must(t, fake.WriteFunction(filepath.Join(build, "bootstrap.zip")))
	out := filepath.Join(build, "cdk.out")
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false), Outdir: &out})
	stack := awscdk.NewStack(app, jsii.String("S"), nil)
	infra.NewResume(stack, "Resume", &infra.ResumeProps{
		Code: filepath.Join(build, "bootstrap.zip"), Execute: &infra.ExecuteOptions{Operations: []string{"checkout"}}, Operations: []string{"checkout"},
		Table: infra.NewIdempotencyTable(stack, "Idempotency", &infra.IdempotencyTableProps{Resume: true}),
	})
	app.Synth(nil)
	written, err := os.ReadFile(filepath.Join(out, "S.template.json"))
	check.Must(t, err)
	want, err := template.Parse(written)
	check.Must(t, err)
	want, err = want.Readable()
	check.Must(t, err)

	same(t, got.Resources()["Idempotency"].Properties(), want.Resources()["Idempotency"].Properties(), "the table")
	same(t, got.Resources()["ResumeLogs"], want.Resources()["ResumeLogs"], "the log")
	mine, construct := functions(got)["ResumeFunction"], functions(want)["ResumeFunction"]
	permissions := func(f template.Function) string {
		join := `map[Fn::Join:[ [map[Fn::GetAtt:[Idempotency Arn]] /index/lapsed]]]` // as !Sub is written
		return strings.ReplaceAll(strings.Join(allowed(f), "\n"), join, "map[Fn::Sub:${Idempotency.Arn}/index/lapsed]")
	}
	check.Equal(t, permissions(mine), permissions(construct))
	for _, name := range []string{"Environment", "ReservedConcurrentExecutions", "Timeout"} {
		same(t, mine.Properties[name], construct.Properties[name], name)
	}
	invoked := mine.Properties["EventInvokeConfig"].(map[string]any)
	for _, r := range want.Resources("AWS::Lambda::EventInvokeConfig") {
		for _, name := range []string{"MaximumEventAgeInSeconds", "MaximumRetryAttempts"} {
			same(t, invoked[name], r.Properties()[name], name)
		}
	}
	for _, r := range want.Resources("AWS::Events::Rule") {
		check.Contains(t, mine.Properties["Events"], fmt.Sprint(r.Properties()["ScheduleExpression"]))
	}
}
