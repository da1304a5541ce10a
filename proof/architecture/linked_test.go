package architecture

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// The program of a user of the store in DynamoDB.
const program = `package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
)

func main() {
	store, err := dynamo.New(dynamodb.New(dynamodb.Options{}), "records", nil)
	if err != nil {
		panic(err)
	}
	x, err := idempotent.New("operation", store, nil)
	if err != nil {
		panic(err)
	}
	_, err = idempotent.Do(context.Background(), x, idempotent.Key{ID: "1"}, func(context.Context) (string, error) { return "", nil })
	panic(err)
}
`

// What only users of other packages need. A name is that of modules, and the
// beginning of those of symbols.
var (
	elsewhere = []string{
		"github.com/jackc/", "github.com/redis/", "github.com/aws/aws-cdk-go", "github.com/aws/jsii-runtime-go",
		"github.com/aws/constructs-go", "go.opentelemetry.io/otel/sdk", "github.com/johannesboyne/gofakes3",
		"github.com/anishathalye/porcupine", "github.com/chromedp/", "github.com/stretchr/testify", "github.com/jmespath",
		"github.com/modelcontextprotocol/", "github.com/google/jsonschema-go",
	}
	// Root packages that this user does not import need these modules.
	unused = []string{"github.com/aws/aws-lambda-go", "github.com/lambda-once/once/internal/jmespath", "github.com/dunglas/httpsfv",
		"github.com/aws/aws-sdk-go-v2/config", "github.com/aws/aws-sdk-go-v2/service/s3", "github.com/aws/aws-sdk-go-v2/service/kms",
		"github.com/aws/aws-sdk-go-v2/service/sqs", "github.com/aws/aws-sdk-go-v2/service/sns", "github.com/aws/aws-sdk-go-v2/service/eventbridge", "go.opentelemetry.io/", "testing"}
)

// A user's module graph has no other store's client, no CDK and no library for
// tests, and the program that it builds contains none.
func TestUserOfDynamoDBLinksNothingElse(t *testing.T) {
	dir := t.TempDir()
	absolute, err := filepath.Abs(root)
	check.Must(t, err)
	run := func(args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "go", args...)
		command.Dir, command.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod -trimpath", "GOWORK=off")
		out, err := command.CombinedOutput()
		check.Must(t, err, "go", strings.Join(args, " "), out)
		return string(out)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	check.Must(t, err)
	for name, text := range map[string]string{"main.go": program, "go.mod": "module user\n\ngo 1.26\n", "go.sum": string(sums)} {
		check.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	run("mod", "edit", "-require="+strings.TrimSuffix(project, "/")+"@v0.0.0", "-replace="+strings.TrimSuffix(project, "/")+"="+absolute)
	run("build", "-o", "program", ".")

	modules := strings.Split(run("list", "-m", "all"), "\n")
	symbols := strings.Split(run("tool", "nm", "program"), "\n")
	if len(modules) < 5 || !slices.ContainsFunc(symbols, func(s string) bool { return strings.Contains(s, " "+project+"dynamo.") }) {
		t.Fatalf("%d modules, %d symbols", len(modules), len(symbols))
	}
	for _, m := range modules {
		check.False(t, slices.ContainsFunc(elsewhere, func(name string) bool { return strings.HasPrefix(m, name) }), "the module graph", m)
	}
	for _, s := range symbols {
		_, name, _ := strings.Cut(strings.TrimSpace(s), " T ")
		if slices.ContainsFunc(append(elsewhere, unused...), func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			t.Fatalf("the program has %s", name)
		}
	}
}
