package main

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/lambda-once/once/infra/internal/check"
)

// SAM calls make build-<logical id> for each function whose build method is
// makefile, and uploads the contents of ARTIFACTS_DIR. Here they are for this machine, whose
// packages the other tests compile too.
func TestSAMBuilds(t *testing.T) {
	built := 0
	for id, r := range sam(t).Resources("AWS::Serverless::Function") {
		t.Run(id, func(t *testing.T) {
			check.Equal(t, r["Metadata"], map[string]any{"BuildMethod": "makefile"})
			artifacts := t.TempDir()
			build := exec.CommandContext(t.Context(), "make", "build-"+id)
			build.Dir = filepath.Join("../../..", r.Properties()["CodeUri"].(string))
			build.Env = append(build.Environ(), "ARTIFACTS_DIR="+artifacts, "ARCH="+runtime.GOARCH)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			program, err := elf.Open(filepath.Join(artifacts, "bootstrap"))
			check.Must(t, err)
			defer program.Close()
			check.Equal(t, program.Machine, machine[runtime.GOARCH])
			check.Equal(t, program.Type, elf.ET_EXEC)
			libraries, err := program.ImportedLibraries()
			check.Equal(t, err, nil)
			check.Equal(t, len(libraries), 0, libraries)
		})
		built++
	}
	check.Equal(t, built, 7)
}

var machine = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

func TestSAMBuildsForArm64ByDefault(t *testing.T) {
	for id := range sam(t).Resources("AWS::Serverless::Function") {
		build := exec.CommandContext(t.Context(), "make", "-n", "build-"+id)
		build.Dir = "../../.."
		build.Env = append(build.Environ(), "ARTIFACTS_DIR="+t.TempDir())
		out, err := build.CombinedOutput()
		check.Must(t, err)
		check.Contains(t, string(out), " GOOS=linux GOARCH=arm64 go ", id)
	}
}

// Without the folder that SAM names, a build would be written to the root of
// the file system, or into the sources.
func TestSAMBuildRefusesWithoutArtifactsDir(t *testing.T) {
	for _, folder := range []string{"", " ", "artifacts"} {
		for id := range sam(t).Resources("AWS::Serverless::Function") {
			// Nothing is built, should make go on: -n only prints.
			build := exec.CommandContext(t.Context(), "make", "-n", "build-"+id)
			build.Dir = "../../.."
			build.Env = append(build.Environ(), "ARTIFACTS_DIR="+folder)
			out, err := build.CombinedOutput()
			check.Equal(t, err == nil, false, id, folder)
			check.Contains(t, string(out), "ARTIFACTS_DIR must be an absolute path", id, folder)
		}
	}
}
