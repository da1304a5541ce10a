package terraform

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

func TestModulesAreFormatted(t *testing.T) {
	r := newRoot(t, "")
	out, err := r.run(t, "fmt", "-check", "-recursive", "-diff")
	if err != nil {
		t.Error(out)
	}
	r.write(t, "table/main.tf", "a  =  1\n")
	if _, err := r.run(t, "fmt", "-check", "-recursive"); err == nil {
		t.Error("a line that is not formatted goes unnoticed")
	}
}

// Each module has tests of its own, with a mock of the provider.
func TestModules(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"access", "alarms", "function", "outbox", "queue", "resume", "table"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			r := newRoot(t, folder)
			r.init(t)
			check.Contains(t, r.must(t, "test"), "Success! ")
		})
	}
}

var (
	blocks = regexp.MustCompile("(?s)```hcl\n(.*?)```")
	remote = regexp.MustCompile(`git::https://github\.com/lambda-once/once\.git//infra/terraform/(\w+)\?ref=v[0-9.]+"`)
)

// surroundings are what the pages refer to.
const surroundings = `
resource "aws_iam_role" "orders" {
  name               = "other-orders"
  assume_role_policy = "{}"
}
resource "aws_sns_topic" "on_call" {}
resource "aws_sqs_queue" "failed_invoices" {
  message_retention_seconds = 1209600
}
resource "aws_sqs_queue" "invoices" {
  message_retention_seconds  = 345600
  visibility_timeout_seconds = 60
}
module "invoices" {
  source            = "../function"
  filename          = "build/bootstrap.zip"
  name              = "invoices"
  operations        = ["invoice"]
  retention_seconds = 1555200
  table             = module.idempotency.table
}
`

// The blocks of the page are one root, and those of the READMEs are another.
func TestPagesArePlanned(t *testing.T) {
	t.Parallel()
	readmes, err := filepath.Glob(filepath.Join(modules, "*", "README.md"))
	check.Must(t, err)
	for name, pages := range map[string][]string{"page": {"../../docs/terraform.md"}, "READMEs": readmes} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoot(t, "root")
			text := surroundings
			for _, page := range pages {
				for _, block := range blocks.FindAllStringSubmatch(read(t, page), -1) {
					if strings.HasPrefix(block[1], "module") {
						text += remote.ReplaceAllString(block[1], `../$1"`)
					}
				}
			}
			for _, file := range regexp.MustCompile(`build/.*\.zip`).FindAllString(text, -1) {
				r.write(t, file, zip)
			}
			r.write(t, "main.tf", text)
			r.write(t, "root.tftest.hcl", "mock_provider \"aws\" {}\nrun \"plan\" {\n  command = plan\n}\n")
			r.init(t)
			r.must(t, "test")
		})
	}
}

// Each README ends with tables of the module's variables and outputs.
func TestReadmesListVariablesAndOutputs(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^(?:variable|output) "(\w+)" \{\n  description = (".*")$`)
	files, err := filepath.Glob(filepath.Join(modules, "*", "*.tf"))
	check.Must(t, err)
	for _, file := range files {
		readme := read(t, filepath.Join(filepath.Dir(file), "README.md"))
		for _, d := range declared.FindAllStringSubmatch(read(t, file), -1) {
			description, err := strconv.Unquote(d[2])
			check.Must(t, err)
			check.Contains(t, readme, "| `"+d[1]+"` | "+description+" |", file)
		}
	}
}

// Lambda refuses a mapping whose role may not receive, and a function that runs before its
// policies exist uses up receives of messages.
func TestPoliciesComeFirst(t *testing.T) {
	for file, first := range map[string]string{
		"function": "[aws_iam_role_policy.logs, module.access]", "queue": "[aws_iam_role_policy.receive]", "outbox": "[aws_iam_role_policy.relay]", "examples": "[aws_iam_role_policy.business]",
	} {
		check.Contains(t, read(t, filepath.Join(modules, file, "main.tf")), "depends_on = "+first)
	}
}
