// Package terraform tests the modules of infra/terraform with Terraform: their format, their
// own tests, and the example, which is deployed to moto, compared with the CDK app, and
// changed.
package terraform

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/notrun"
)

const (
	modules = "../../infra/terraform"
	region  = "eu-west-1"
)

// A root is a folder in a copy of the modules, in which Terraform runs.
type root struct{ dir, endpoint string }

// newRoot copies the modules. Without Terraform it skips the test.
func newRoot(t *testing.T, folder string) *root {
	t.Helper()
	if _, err := exec.LookPath("terraform"); err != nil {
		notrun.Say(t, "terraform is not installed")
		t.SkipNow()
	}
	tree := filepath.Join(t.TempDir(), "infra", "terraform") // as deep as here, for paths out of it
	check.Must(t, os.CopyFS(tree, os.DirFS(modules)))
	r := &root{dir: filepath.Join(tree, folder), endpoint: "http://127.0.0.1:1"}
	check.Must(t, os.MkdirAll(r.dir, 0o755))
	return r
}

// run returns what Terraform prints. Nothing of the environment leads it to an account.
func (r *root) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "terraform", args...)
	command.Dir = r.dir
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "AWS_") {
			command.Env = append(command.Env, variable)
		}
	}
	command.Env = append(command.Env, "TF_CLI_ARGS=-no-color", "TF_IN_AUTOMATION=1", "TF_INPUT=0",
		"AWS_ACCESS_KEY_ID=moto", "AWS_SECRET_ACCESS_KEY=moto", "AWS_REGION="+region, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "AWS_ENDPOINT_URL="+r.endpoint)
	var said strings.Builder
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("terraform %s: %w\n%s\n%s", strings.Join(args, " "), err, out, &said)
	}
	return string(out), err
}

func (r *root) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := r.run(t, args...)
	check.Must(t, err)
	return out
}

// Two that fill a cache of providers at once could spoil it.
var initializing sync.Mutex

// init skips the test where Terraform finds no provider.
func (r *root) init(t *testing.T) {
	t.Helper()
	args := []string{"init"}
	// An administrator may have unpacked a mirror here, where Terraform does not look.
	mirrors, err := filepath.Glob("/opt/*/registry.terraform.io")
	check.Must(t, err)
	if os.Getenv("TF_CLI_ARGS_init") == "" && len(mirrors) > 0 {
		args = append(args, "-plugin-dir="+filepath.Dir(mirrors[0]))
	}
	initializing.Lock()
	defer initializing.Unlock()
	_, err = r.run(t, args...)
	if err != nil && regexp.MustCompile("Failed to (query|install).* provider").MatchString(err.Error()) {
		notrun.Say(t, "terraform init finds no provider of AWS; TF_CLI_ARGS_init=-plugin-dir=FOLDER names a folder that has it")
		t.Skip(err)
	}
	check.Must(t, err)
}

func (r *root) write(t *testing.T, file, text string) {
	t.Helper()
	file = filepath.Join(r.dir, file)
	check.Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	check.Must(t, os.WriteFile(file, []byte(text), 0o644))
}

// zip is one without files.
var zip = "PK\x05\x06" + strings.Repeat("\x00", 18)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	check.Must(t, err)
	return string(text)
}
