package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/fake"
	"github.com/lambda-once/once/infra/internal/template"
)

func TestMain(m *testing.M) {
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}

func TestAppKeepsTheRulesOfADeployment(t *testing.T) {
	dir := t.TempDir()
	code, out := filepath.Join(dir, "bootstrap.zip"), filepath.Join(dir, "cdk.out")
	check.Must(t, fake.WriteFunction(code))
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false), Outdir: &out})
	stack := orders(app, code)
	app.Synth(nil)
	text, err := os.ReadFile(filepath.Join(out, *stack.StackName()+".template.json"))
	check.Must(t, err)
	deployed, err := template.Parse(text)
	check.Must(t, err)
	actions, err := template.StoreActions("../../../dynamo", "Client")
	check.Must(t, err)
	if n := len(deployed.Functions()); n != 1 {
		t.Fatalf("%d functions, want 1", n)
	}
	for _, rule := range template.Rules() {
		for _, problem := range deployed.Problems(rule, actions) {
			t.Errorf("%s: %s", rule, problem)
		}
	}
}
