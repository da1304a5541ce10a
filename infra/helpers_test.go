package infra

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/fake"
	"github.com/lambda-once/once/infra/internal/template"
)

func TestMain(m *testing.M) {
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}

func newStack() awscdk.Stack {
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false)})
	return awscdk.NewStack(app, jsii.String("S"), &awscdk.StackProps{Env: &awscdk.Environment{
		Account: jsii.String("111122223333"), Region: jsii.String("eu-west-1"),
	}})
}

func synth(t *testing.T, stack awscdk.Stack) template.Template {
	t.Helper()
	whole, err := template.Template(*assertions.Template_FromStack(stack, nil).ToJSON()).Clone().Readable()
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// only is the single resource of a type.
func only(t *testing.T, from template.Template, kind string) template.Resource {
	t.Helper()
	ids := from.IDs(kind)
	if len(ids) != 1 {
		t.Fatalf("%d of %s: %v", len(ids), kind, ids)
	}
	return from.Resources()[ids[0]]
}

// refusal returns the value with which a constructor panics, or nil.
func refusal(t *testing.T, construct func()) (refused *PropsError) {
	t.Helper()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *PropsError:
			refused = r
		default:
			t.Fatalf("panic with %T: %v", r, r)
		}
	}()
	construct()
	return nil
}

// wantRefusal checks that one problem, with these words, is what is wrong; ""
// that nothing is.
func wantRefusal(t *testing.T, words string, construct func()) {
	t.Helper()
	refused := refusal(t, construct)
	switch {
	case words == "" && refused != nil:
		t.Errorf("refused: %v", refused)
	case words != "" && refused == nil:
		t.Errorf("not refused; want %q", words)
	case words != "" && (len(refused.Problems) != 1 || !strings.Contains(refused.Problems[0], words)):
		t.Errorf("got %v, want one problem with %q", refused, words)
	}
}

func zip(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bootstrap.zip")
	if err := fake.WriteFunction(file); err != nil {
		t.Fatal(err)
	}
	return file
}

func newFunction(t *testing.T, stack awscdk.Stack, change func(*IdempotentFunctionProps)) *IdempotentFunction {
	t.Helper()
	props := &IdempotentFunctionProps{Code: zip(t), Table: NewIdempotencyTable(stack, "Table", nil)}
	if change != nil {
		change(props)
	}
	return NewIdempotentFunction(stack, "Function", props)
}

// A refusal names the construct, and everything that is wrong with it.
func TestPropsError(t *testing.T) {
	var err error = refusal(t, func() {
		NewIdempotentFunction(newStack(), "Orders", &IdempotentFunctionProps{Code: "nowhere.zip", MemorySize: 64})
	})
	var refused *PropsError
	if !errors.As(err, &refused) || refused.Construct != "S/Orders" || len(refused.Problems) != 3 {
		t.Fatalf("got %v", err)
	}
	for _, words := range []string{"S/Orders: Code: build the function first", "; Table: it is required", "; MemorySize: 64"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%q is not in %q", words, err)
		}
	}
}
