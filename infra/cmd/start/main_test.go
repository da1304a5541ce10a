package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/fake"
	"github.com/lambda-once/once/infra/internal/template"
)

var update = flag.Bool("update", false, "write the alarms")

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}

// The tests of the pages drive the function into the failure that each alarm names, with
// the variables of the deployment, and compare the metrics that it writes with these.
func TestAlarmsAreThoseThatThePagesSeeRing(t *testing.T) {
	const file = "testdata/alarms.json"
	code := filepath.Join(t.TempDir(), "bootstrap.zip")
	check.Must(t, fake.WriteFunction(code))
	stack := orders(awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false)}), code)
	deployed, err := template.Template(*assertions.Template_FromStack(stack, nil).ToJSON()).Clone().Readable()
	check.Must(t, err)
	type alarm struct {
		Threshold any
		Readings  []template.Reading
	}
	alarms := map[string]alarm{}
	for id, r := range deployed.Resources("AWS::CloudWatch::Alarm") {
		alarms[id] = alarm{r.Properties()["Threshold"], r.Readings()}
	}
	got, err := json.MarshalIndent(map[string]any{"Alarms": alarms, "Environment": deployed.Functions()[0].Properties["Environment"]}, "", "  ")
	check.Must(t, err)
	if *update {
		check.Must(t, os.WriteFile(file, append(got, '\n'), 0o644))
	}
	want, err := os.ReadFile(file)
	check.Must(t, err)
	check.Equal(t, string(got)+"\n", string(want), "if that is meant, run with -update")
}
