package main

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/aws-cdk-go/awscdk/v2/cloudformationinclude"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/fake"
	"github.com/lambda-once/once/infra/internal/template"
)

var update = flag.Bool("update", false, "write the snapshot")

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}

// synthesized is the template of the app, without hashes. It does not depend on the
// contents of the zips.
var synthesized = sync.OnceValues(func() (template.Template, error) {
	build, err := os.MkdirTemp("", "once-build")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(build)
	for _, name := range []string{"payments", "orders", "transfer", "shared", "checkout", "refunds", "relay"} {
		folder := filepath.Join(build, name)
		if err := errors.Join(os.MkdirAll(folder, 0o755), fake.WriteFunction(filepath.Join(folder, "bootstrap.zip"))); err != nil {
			return nil, err
		}
	}
	return readable(examples(newApp(), build+"/"))
})

func newApp() awscdk.App {
	return awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false)})
}

// readable returns the template of a stack without hashes.
func readable(stack awscdk.Stack) (template.Template, error) {
	return template.Template(*assertions.Template_FromStack(stack, nil).ToJSON()).Clone().Readable()
}

func cdk(t *testing.T) template.Template {
	t.Helper()
	synth, err := synthesized()
	check.Must(t, err)
	return synth.Clone()
}

func sam(t *testing.T) template.Template {
	t.Helper()
	return included(t, read(t, "../../../template.yaml"))
}

// page is the template of docs/deploy.md.
func page(t *testing.T) template.Template {
	t.Helper()
	_, after, found := strings.Cut(read(t, "../../../docs/deploy.md"), "```yaml\n")
	block, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		t.Fatal("docs/deploy.md has no block of YAML")
	}
	return included(t, block)
}

var (
	alias     = regexp.MustCompile(`[:,[-] ([&*]\w+|<<:)`)
	attribute = regexp.MustCompile(`"Fn::GetAtt": "(\w+)\.([\w.]+)"`) // which has a short form in YAML alone
	cached    = map[string]template.Template{}
)

// included reads a template in YAML by CDK, which keeps also the properties that it does not know.
func included(t *testing.T, text string) template.Template {
	t.Helper()
	if cached[text] == nil {
		check.Equal(t, alias.FindString(text), "", "CloudFormation has no aliases, and no merges")
		file := filepath.Join(t.TempDir(), "template.yaml")
		check.Must(t, os.WriteFile(file, []byte(text), 0o644))
		stack := awscdk.NewStack(awscdk.NewApp(nil), jsii.String("S"), &awscdk.StackProps{Synthesizer: awscdk.NewLegacyStackSynthesizer()})
		cloudformationinclude.NewCfnInclude(stack, jsii.String("Include"), &cloudformationinclude.CfnIncludeProps{TemplateFile: &file})
		whole := attribute.ReplaceAllString(indented(t, assertions.Template_FromStack(stack, nil).ToJSON()), `"Fn::GetAtt": ["$1", "$2"]`)
		read, err := template.Parse([]byte(whole))
		check.Must(t, err)
		cached[text] = read
	}
	return cached[text].Clone()
}

// A key that is repeated would replace the first one.
func TestTemplateWithARepeatedKeyIsRefused(t *testing.T) {
	defer func() { check.Contains(t, recover(), "Map keys must be unique") }()
	included(t, "Resources:\n  Queue: {Type: AWS::SQS::Queue}\n  Queue: {Type: AWS::SQS::Queue}\n")
}

// templates returns the templates of Once by their names.
func templates(t *testing.T) map[string]template.Template {
	t.Helper()
	return map[string]template.Template{"CDK": cdk(t), "SAM": sam(t), "page": page(t)}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	check.Must(t, err)
	return string(text)
}

func indented(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	check.Must(t, err)
	return string(text) + "\n"
}

// A change of what is deployed shows in a review. "go test ./cmd/examples
// -update" writes the snapshot.
func TestSnapshot(t *testing.T) {
	const file = "testdata/template.json"
	got := indented(t, cdk(t))
	if *update {
		check.Must(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want := strings.Split(read(t, file), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("%s:%d: got %s, want %s; if that is meant, run with -update", file, i+1, line, want[min(i, len(want)-1)])
		}
	}
	if n := len(strings.Split(got, "\n")); n != len(want) {
		t.Errorf("%s has %d lines, got %d", file, len(want), n)
	}
}
