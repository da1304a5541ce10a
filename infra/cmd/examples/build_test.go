package main

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/lambda-once/once/infra/internal/check"
)

// SAM calls make build-<logical id> for each function whose build method is
// makefile, and uploads the contents of ARTIFACTS_DIR.
func TestSAMBuilds(t *testing.T) {
	built := 0
	for id, r := range sam(t).Resources("AWS::Serverless::Function") {
		t.Run(id, func(t *testing.T) {
			check.Equal(t, r["Metadata"], map[string]any{"BuildMethod": "makefile"})
			artifacts := t.TempDir()
			build := exec.CommandContext(t.Context(), "make", "build-"+id)
			build.Dir = filepath.Join("../../..", r.Properties()["CodeUri"].(string))
			build.Env = append(build.Environ(), "ARTIFACTS_DIR="+artifacts)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			program, err := elf.Open(filepath.Join(artifacts, "bootstrap"))
			check.Must(t, err)
			defer program.Close()
			check.Equal(t, program.Machine, elf.EM_AARCH64)
			check.Equal(t, program.Type, elf.ET_EXEC)
			libraries, err := program.ImportedLibraries()
			check.Equal(t, err, nil)
			check.Equal(t, len(libraries), 0, libraries)
		})
		built++
	}
	check.Equal(t, built, 7)
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
