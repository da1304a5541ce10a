package nag

import (
	"embed"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/nodemodules"
	"github.com/lambda-once/once/internal/notrun"
)

// template is the app of infra/cmd/examples, whose test keeps it up to date.
const template = "../../infra/cmd/examples/testdata/template.json"

//go:embed program
var sources embed.FS

// A reason explains the findings of a rule about constructs.
type reason struct {
	rule, construct string
	used            bool
}

func TestEveryFindingOfCDKNagHasAReason(t *testing.T) {
	reasons := explained(t)
	for line := range strings.Lines(findings(t, template)) {
		rule, construct, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if !explains(reasons, rule, construct) {
			t.Errorf("%s: %s has no reason in reasons.txt", rule, construct)
		}
	}
	for _, r := range reasons {
		if !r.used {
			t.Errorf("reasons.txt: there is no finding of %s about %s", r.rule, r.construct)
		}
	}
}

// A table without encryption and backups is found, so the packs do run.
func TestCDKNagFindsATableWithoutBackups(t *testing.T) {
	file := filepath.Join(t.TempDir(), "template.json")
	text := `{"Resources":{"T":{"Type":"AWS::DynamoDB::Table","Properties":{
		"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}}}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := findings(t, file); !strings.Contains(found, "AwsSolutions-DDB3\tT\n") {
		t.Errorf("found %q", found)
	}
}

func TestCFNLintFindsNoMistake(t *testing.T) {
	lint, err := exec.LookPath("cfn-lint")
	if err != nil {
		notrun.Say(t, "cfn-lint is not installed: pip install cfn-lint")
		return
	}
	// W3005 wants no DependsOn beside a reference, which CDK adds for the policies of roles.
	if out, err := exec.CommandContext(t.Context(), lint, "--ignore-checks", "W3005", "--", template).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// findings returns a line for each: its rule, a tab, and the construct.
func findings(t *testing.T, template string) string {
	t.Helper()
	program, err := fs.Sub(sources, "program")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := nodemodules.Install(t.Context(), "nag", program, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "findings.mjs"), template).Output()
	if err != nil {
		t.Fatalf("findings.mjs: %v: %s", err, out)
	}
	return string(out)
}

func explained(t *testing.T) (reasons []*reason) {
	t.Helper()
	text, err := os.ReadFile("reasons.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(fields) < 3 {
			t.Fatalf("reasons.txt: %q is not a rule, a construct and a reason", line)
		}
		reasons = append(reasons, &reason{rule: fields[0], construct: fields[1]})
	}
	return reasons
}

func explains(reasons []*reason, rule, construct string) (found bool) {
	for _, r := range reasons {
		if matches, err := path.Match(r.construct, construct); err == nil && matches && r.rule == rule {
			r.used, found = true, true
		}
	}
	return found
}
