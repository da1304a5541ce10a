package main

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// SAM calls make build-<logical id> for each function whose build method is
// makefile, and uploads what is then in ARTIFACTS_DIR.
func TestSAMBuilds(t *testing.T) {
	built := 0
	for id, r := range sam(t).Resources("AWS::Serverless::Function") {
		t.Run(id, func(t *testing.T) {
			metadata, _ := r["Metadata"].(map[string]any)
			if metadata["BuildMethod"] != "makefile" {
				t.Fatalf("the build method is %v", metadata["BuildMethod"])
			}
			artifacts := t.TempDir()
			build := exec.CommandContext(t.Context(), "make", "build-"+id)
			build.Dir = filepath.Join("../../..", r.Properties()["CodeUri"].(string))
			build.Env = append(build.Environ(), "ARTIFACTS_DIR="+artifacts)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			program, err := elf.Open(filepath.Join(artifacts, "bootstrap"))
			if err != nil {
				t.Fatal(err)
			}
			defer program.Close()
			if program.Machine != elf.EM_AARCH64 || program.Type != elf.ET_EXEC {
				t.Errorf("bootstrap is a %v for %v", program.Type, program.Machine)
			}
			if libraries, err := program.ImportedLibraries(); err != nil || len(libraries) != 0 {
				t.Errorf("bootstrap needs %v, %v", libraries, err)
			}
		})
		built++
	}
	if built < 5 {
		t.Errorf("%d functions", built)
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
			if err == nil || !strings.Contains(string(out), "ARTIFACTS_DIR must be an absolute path") {
				t.Errorf("%s with ARTIFACTS_DIR=%q: %v\n%s", id, folder, err, out)
			}
		}
	}
}
