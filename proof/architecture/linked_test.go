package architecture

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// elsewhere begins the names of modules that only users of other modules need.
var elsewhere = []string{
	"github.com/jackc/", "github.com/redis/", "github.com/aws/aws-cdk-go", "github.com/aws/jsii-runtime-go",
	"github.com/aws/constructs-go", "go.opentelemetry.io/otel/sdk", "github.com/johannesboyne/gofakes3",
	"github.com/anishathalye/porcupine", "github.com/chromedp/", "github.com/stretchr/testify", "github.com/jmespath",
	"github.com/modelcontextprotocol/", "github.com/google/jsonschema-go",
}

// A user's module graph has no other store's client, no CDK and no library for tests.
func TestUserOfTheRootHasNoModuleOfOtherUsers(t *testing.T) {
	dir, once := t.TempDir(), strings.TrimSuffix(project, "/")
	absolute, err := filepath.Abs(root)
	check.Must(t, err)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	check.Must(t, err)
	module := fmt.Sprintf("module user\n\ngo 1.26\n\nrequire %s v0.0.0\n\nreplace %[1]s => %s\n", once, absolute)
	for name, text := range map[string]string{"go.mod": module, "go.sum": string(sums)} {
		check.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	graph := in(t, dir, "list", "-m", "-f", "{{.Path}}", "all")
	check.True(t, slices.Contains(graph, once), graph)
	for _, module := range graph {
		check.False(t, slices.ContainsFunc(elsewhere, func(name string) bool { return strings.HasPrefix(module, name) }), "the module graph has", module)
	}
}
