package synth

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/nodemodules"
	"github.com/lambda-once/once/internal/notrun"
)

// Its packages have the binaries of Node: a package for each version and platform, of
// which npm installs those for this one.
//
//go:embed program
var sources embed.FS

// The docs ask for Node 22, because jsii no longer supports 20, which it still runs on.
func TestEachNodeSynthesizesTheSnapshot(t *testing.T) {
	installed := install(t)
	synthesize := compile(t)
	for _, version := range []string{"20", "22"} {
		t.Run(version, func(t *testing.T) {
			node := filepath.Join(installed, "node_modules", "node"+version+"-"+platform(), "bin", "node")
			if _, err := os.Stat(node); errors.Is(err, fs.ErrNotExist) && !isWanted(t, version) {
				notrun.Say(t, "there is no package of Node "+version+" for "+platform()+"; the tests of infra run on the installed Node")
				return
			}
			got, err := exec.CommandContext(t.Context(), node, "--version").Output()
			if err != nil {
				t.Fatalf("remove %s and repeat: %v", installed, err)
			}
			if !strings.HasPrefix(string(got), "v"+version+".") {
				t.Errorf("got Node %s", got)
			}
			if out, err := synthesize(node); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	if out, err := synthesize(filepath.Join(installed, "missing")); err == nil {
		t.Errorf("without the Node of the environment, a different one synthesizes: %s", out)
	}
}

func install(t *testing.T) (dir string) {
	t.Helper()
	program, err := fs.Sub(sources, "program")
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = nodemodules.Install(t.Context(), "synth", program, t.Output()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// platform is the end of the names of packages.
func platform() string {
	return runtime.GOOS + "-" + strings.Replace(runtime.GOARCH, "amd64", "x64", 1)
}

// isWanted reports whether there is a package for this platform. npm does not fail if it
// cannot download one.
func isWanted(t *testing.T, version string) bool {
	t.Helper()
	packages, err := sources.ReadFile("program/package.json")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(packages), `"node`+version+"-"+platform()+`"`)
}

// compile returns a function that synthesizes the app with a Node, and compares it with the
// snapshot.
func compile(t *testing.T) func(node string) ([]byte, error) {
	t.Helper()
	const app = "../../infra/cmd/examples"
	program := filepath.Join(t.TempDir(), "examples.test")
	if out, err := exec.CommandContext(t.Context(), "go", "-C", app, "test", "-c", "-vet=off", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return func(node string) ([]byte, error) {
		snapshot := exec.CommandContext(t.Context(), program, "-test.run=^TestSnapshot$")
		snapshot.Dir, snapshot.Env = app, append(os.Environ(), "JSII_NODE="+node)
		return snapshot.CombinedOutput()
	}
}
