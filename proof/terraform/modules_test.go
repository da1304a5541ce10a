package terraform

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

const modules = "../../infra/terraform"

var folders = []string{"access", "alarms", "examples", "function", "queue", "table"}

func TestEveryFolderIsListed(t *testing.T) {
	entries, err := os.ReadDir(modules)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range entries {
		if entry.IsDir() {
			found = append(found, entry.Name())
		}
	}
	if !slices.Equal(found, folders) {
		t.Errorf("got %v, want %v", found, folders)
	}
}

// terraform fmt 1.11 also writes [true] as [], which is invalid. hclwrite does not.
func TestModulesAreFormatted(t *testing.T) {
	keyword := regexp.MustCompile(`\[(true|false|null)\]`)
	paths, err := filepath.Glob(filepath.Join(modules, "*", "*.tf"))
	if err != nil || len(paths) < 4*len(folders) {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := hclwrite.Format(text); !bytes.Equal(text, want) {
			t.Errorf("%s is not formatted; it should be\n%s", path, want)
		}
		if broken := append([]byte("a  =  1\n"), text...); bytes.Equal(hclwrite.Format(broken), broken) {
			t.Errorf("%s: a line that is not formatted goes unnoticed", path)
		}
		if found := keyword.Find(text); found != nil {
			t.Errorf("%s has a keyword as an index: %s", path, found)
		}
	}
}

// Terraform knows a queue by its address: with a second one, it is destroyed with its
// messages when the stage becomes a lasting one.
func TestADeadLetterQueueOutlivesAChangeOfEphemeral(t *testing.T) {
	for _, ephemeral := range []bool{false, true} {
		facts := `{ name = "pay", role_name = "pay", timeout = 10, retention_seconds = 18 * 86400, ephemeral = ` + fmt.Sprint(ephemeral) + ` }`
		c := calling(t, "queue", "function="+facts)
		var queues []string
		for _, r := range c.Resources {
			if r.Type == "aws_sqs_queue" {
				queues = append(queues, r.Address)
			}
		}
		if want := []string{"module.m.aws_sqs_queue.dead_letters[0]", "module.m.aws_sqs_queue.this[0]"}; !slices.Equal(queues, want) {
			t.Errorf("ephemeral = %v: the queues are %v, want %v", ephemeral, queues, want)
		}
		if kept := c.kept()["module.m.aws_sqs_queue.dead_letters[0]"]; kept == ephemeral {
			t.Errorf("ephemeral = %v: the plan keeps the queue: %v", ephemeral, kept)
		}
	}
}

// variants are roots that together give a value to every argument of the modules.
var variants = map[string]string{
	"composite keys": `
module "table" {
  source        = "MODULES/table"
  name          = "records"
  kms_key_arn   = "arn:aws:kms:eu-west-1:111122223333:key/a"
  sort_key      = "sk"
  ephemeral     = true
}
module "function" {
  source                 = "MODULES/function"
  name                   = "pay"
  filename               = "bootstrap.zip"
  operations             = ["pay"]
  restrict_to_operations = false
  retention_seconds      = 2419200
  table                  = module.table.table
}
module "queue" {
  source                  = "MODULES/queue"
  name                    = "pay"
  function                = module.function.function
  batching_window_seconds = 5
  max_concurrency         = 10
}
`,
	"an existing queue": `
resource "aws_sqs_queue" "failed" {
  name                      = "failed"
  message_retention_seconds = 1209600
}
resource "aws_sqs_queue" "orders" {
  name                       = "orders"
  message_retention_seconds  = 345600
  visibility_timeout_seconds = 60
}
module "queue" {
  source   = "MODULES/queue"
  name     = "orders"
  existing = { queue = aws_sqs_queue.orders, dead_letters = aws_sqs_queue.failed }
  function = { name = "orders", role_name = "orders", timeout = 10, retention_seconds = 1555200 }
}
module "alarms" {
  source    = "MODULES/alarms"
  name      = "stage"
  functions = { Orders = { function = { name = "orders", operations = ["pay"] }, queues = [module.queue.queue] } }
}
`,
	"a FIFO queue of a function elsewhere": `
module "access" {
  source    = "MODULES/access"
  role_name = "elsewhere"
  table     = { name = "records", arn = "arn:aws:dynamodb:eu-west-1:111122223333:table/records" }
}
module "queue" {
  source   = "MODULES/queue"
  name     = "pay"
  fifo     = true
  function = { name = "arn:aws:lambda:eu-west-1:111122223333:function:elsewhere:live", role_name = "elsewhere", timeout = 30, retention_seconds = 2419200 }
}
module "fifo_alarms" {
  source    = "MODULES/alarms"
  name      = "stage"
  functions = {
    Elsewhere = {
      function = { name = "arn:aws:lambda:eu-west-1:111122223333:function:elsewhere:live", operations = ["pay"] }
      queues   = [module.queue.queue, { name = "a", dead_letters_name = "b", retention_seconds = 600 }]
    }
  }
}
`,
}

// root writes a configuration that calls the modules, and returns its folder.
func root(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	relative, err := filepath.Abs(modules)
	if err != nil {
		t.Fatal(err)
	}
	if relative, err = filepath.Rel(dir, relative); err != nil {
		t.Fatal(err)
	}
	text = strings.ReplaceAll(text, "MODULES", filepath.ToSlash(relative))
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func evaluated(t *testing.T, dir string) *Configuration {
	t.Helper()
	c, err := Evaluate(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func moduleIn(t *testing.T, dir string) *module {
	t.Helper()
	m, err := readModule(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// argumentNames returns the names that a module gives to the arguments of its resources.
func argumentNames(body *hclsyntax.Body, path string) (names []string) {
	for name := range body.Attributes {
		if !slices.Contains(metaArguments, name) {
			names = append(names, path+name)
		}
	}
	for _, block := range body.Blocks {
		switch block.Type {
		case "lifecycle":
		case "dynamic":
			names = append(names, argumentNames(block.Body.Blocks[0].Body, path+block.Labels[0]+".")...)
		default:
			names = append(names, argumentNames(block.Body, path+block.Type+".")...)
		}
	}
	return names
}

func kindOf(block *hclsyntax.Block) string {
	if block.Type == "data" {
		return "data." + block.Labels[0]
	}
	return block.Labels[0]
}

// The oldest provider has them as well as the newest.
func TestProviderHasEveryArgument(t *testing.T) {
	for _, r := range []release{oldest, newest} {
		p := newProvider(t, r)
		for _, folder := range folders {
			m := moduleIn(t, filepath.Join(modules, folder))
			for name, block := range m.resources {
				s, err := p.resource(kindOf(block))
				if err != nil {
					t.Fatal(err)
				}
				for _, problem := range s.check(block.Body, "") {
					t.Errorf("%s: %s: the provider %s: %s", folder, name, r.provider, problem)
				}
			}
		}
	}
}

func TestModulesRequireTheOldestProvider(t *testing.T) {
	for _, folder := range folders {
		text, err := os.ReadFile(filepath.Join(modules, folder, "versions.tf"))
		if err != nil {
			t.Fatal(err)
		}
		if want := `version = ">= ` + oldest.provider + `, < 7.0"`; !strings.Contains(string(text), want) {
			t.Errorf("%s does not have %s", folder, want)
		}
	}
}

// The types are those of values, in the example and in variants that leave no argument out.
func TestProviderHasEveryType(t *testing.T) {
	p := newProvider(t, newest)
	seen := map[string]map[string]bool{} // arguments by types of resources
	dirs := []string{filepath.Join(modules, "examples")}
	for _, text := range variants {
		dirs = append(dirs, root(t, text))
	}
	for _, dir := range dirs {
		c := evaluated(t, dir)
		if len(c.Refusals) > 0 {
			t.Error(c.Refusals)
		}
		for _, r := range c.Resources {
			if r.data {
				continue
			}
			s, err := p.resource(r.Type)
			if err != nil {
				t.Fatal(err)
			}
			if seen[r.Type] == nil {
				seen[r.Type] = map[string]bool{}
			}
			for _, problem := range s.checkTypes(r.Body, "", seen[r.Type]) {
				t.Errorf("%s: %s", r.Address, problem)
			}
		}
		if _, err := c.CloudFormation(); err != nil {
			t.Error(err)
		}
	}
	for _, folder := range folders {
		m := moduleIn(t, filepath.Join(modules, folder))
		for name, block := range m.resources {
			for _, argument := range argumentNames(block.Body, "") {
				if !seen[kindOf(block)][argument] {
					t.Errorf("%s: %s: no variant has a value of %s", folder, name, argument)
				}
			}
		}
	}
}

// Lambda refuses a mapping whose role may not receive, and a function that runs before its
// policies exist uses up receives of messages.
func TestPoliciesComeFirst(t *testing.T) {
	for _, c := range []struct{ folder, of, first string }{
		{"function", "aws_lambda_function.this", "aws_iam_role_policy.logs"},
		{"function", "aws_lambda_function.this", "module.access"},
		{"queue", "aws_lambda_event_source_mapping.this", "aws_iam_role_policy.receive"},
		{"examples", "module.orders_queue", "aws_iam_role_policy.business"},
	} {
		m := moduleIn(t, filepath.Join(modules, c.folder))
		block := m.resources[c.of]
		if name, called := strings.CutPrefix(c.of, "module."); called {
			block = m.calls[name]
		}
		if depends := block.Body.Attributes["depends_on"]; depends == nil || !strings.Contains(source(t, block.Body, "depends_on"), c.first) {
			t.Errorf("%s: %s does not depend on %s", c.folder, c.of, c.first)
		}
	}
}

// References to attributes are of those that the provider has.
func TestProviderHasTheIdentities(t *testing.T) {
	p := newProvider(t, newest)
	for kind, names := range identities {
		text, err := p.text(kind)
		if err != nil {
			t.Fatal(err)
		}
		var known []string
		for _, m := range getter.FindAllStringSubmatch(text, -1) {
			known = append(known, strings.ToLower(regexp.MustCompile(`[A-Z]`).ReplaceAllString(m[1], "_$0")))
		}
		for _, name := range names {
			if !slices.Contains(known, name) {
				t.Errorf("%s has no %s", kind, name)
			}
		}
	}
}

func TestProviderRefusesOtherArguments(t *testing.T) {
	p := newProvider(t, newest)
	for problem, text := range map[string]string{
		"misspelt is no argument":                     `misspelt = 1`,
		"redrive_policy is no block":                  `redrive_policy {}`,
		"timeouts is no argument":                     `timeouts = {}`,
		"timeouts.misspelt is no argument":            "timeouts {\nmisspelt = 1\n}",
		"statement is no block":                       "dynamic \"statement\" {\nfor_each = []\ncontent {}\n}",
		"message_retention_seconds is string, want n": `message_retention_seconds = "60"`,
		"name is number, want string":                 `name = 1`,
		"fifo_queue is string, want boolean":          `fifo_queue = "true"`,
		"tags is object, want map":                    `tags = { a = 1 }`,
	} {
		dir := root(t, "resource \"aws_sqs_queue\" \"this\" {\n"+text+"\n}\n")
		s, err := p.resource("aws_sqs_queue")
		if err != nil {
			t.Fatal(err)
		}
		m := moduleIn(t, dir)
		problems := s.check(m.resources["aws_sqs_queue.this"].Body, "")
		if len(problems) == 0 {
			for _, r := range evaluated(t, dir).Resources {
				problems = append(problems, s.checkTypes(r.Body, "", map[string]bool{})...)
			}
		}
		if len(problems) != 1 || !strings.HasPrefix(problems[0], problem) {
			t.Errorf("%s: got %q, want %q", text, problems, problem)
		}
	}
	s, err := p.resource("aws_sqs_queue_policy")
	if err != nil {
		t.Fatal(err)
	}
	problems := s.check(&hclsyntax.Body{}, "")
	slices.Sort(problems)
	if want := []string{"policy is required", "queue_url is required"}; !slices.Equal(problems, want) {
		t.Errorf("got %q, want %q", problems, want)
	}
}
