package main

import (
	"archive/zip"
	"debug/elf"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

// makes runs make for a function, as SAM does.
func makes(t *testing.T, function template.Resource, artifacts string, args ...string) (string, error) {
	t.Helper()
	run := exec.CommandContext(t.Context(), "make", args...)
	run.Dir = filepath.Join("../../..", function.Properties()["CodeUri"].(string))
	run.Env = append(run.Environ(), "ARTIFACTS_DIR="+artifacts)
	out, err := run.CombinedOutput()
	return string(out), err
}

// SAM calls make build-<logical id> for each function whose build method is
// makefile, and uploads the contents of ARTIFACTS_DIR. Here they are for this machine, whose
// packages the other tests compile too.
//
// CDK and CloudFormation replace a function when the hash of its zip changes. So a build in
// a different folder and in a commit, with a time zone and a umask of its own, has the same
// program. Package lambdazip makes the same zip of it at any time.
func TestSAMBuildsTheProgramOfEveryOtherBuild(t *testing.T) {
	zips := builds(t, "umask 077 && "+commit, "TZ=Pacific/Kiritimati", "GOFLAGS=-buildvcs=true")
	built := 0
	for id, r := range sam(t).Resources("AWS::Serverless::Function") {
		t.Run(id, func(t *testing.T) {
			check.Equal(t, r["Metadata"], map[string]any{"BuildMethod": "makefile"})
			artifacts := t.TempDir()
			if out, err := makes(t, r, artifacts, "build-"+id, "ARCH="+runtime.GOARCH); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			bootstrap := filepath.Join(artifacts, "bootstrap")
			program, err := elf.Open(bootstrap)
			check.Must(t, err)
			defer program.Close()
			check.Equal(t, program.Machine, machine[runtime.GOARCH])
			check.Equal(t, program.Type, elf.ET_EXEC)
			libraries, err := program.ImportedLibraries()
			check.Equal(t, err, nil)
			check.Equal(t, len(libraries), 0, libraries)
			check.Equal(t, zips[strings.ToLower(strings.TrimSuffix(id, "Function"))] == read(t, bootstrap), true, "the program of make build")
		})
		built++
	}
	check.Equal(t, built, 7)
}

var machine = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

func TestSAMBuildsForArm64ByDefault(t *testing.T) {
	for id, r := range sam(t).Resources("AWS::Serverless::Function") {
		out, err := makes(t, r, t.TempDir(), "-n", "build-"+id)
		check.Must(t, err)
		check.Contains(t, out, " GOOS=linux GOARCH=arm64 go ", id)
	}
}

// Without the folder that SAM names, a build would be written to the root of
// the file system, or into the sources.
func TestSAMBuildRefusesWithoutArtifactsDir(t *testing.T) {
	for _, folder := range []string{"", " ", "artifacts"} {
		for id, r := range sam(t).Resources("AWS::Serverless::Function") {
			// Nothing is built, should make go on: -n only prints.
			out, err := makes(t, r, folder, "-n", "build-"+id)
			check.Equal(t, err == nil, false, id, folder)
			check.Contains(t, out, "ARTIFACTS_DIR must be an absolute path", id, folder)
		}
	}
}

const commit = "git init -q && git add Makefile && git -c user.name=t -c user.email=t@example.com commit -q -m t"

// builds returns the programs in the zips that make build makes in a copy of the sources.
func builds(t *testing.T, before string, environment ...string) map[string]string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	check.Must(t, err)
	copied := t.TempDir()
	check.Must(t, copySources(copied, root))
	build := exec.CommandContext(t.Context(), "sh", "-c", before+" && exec make build ARCH="+runtime.GOARCH)
	build.Dir = copied
	build.Env = append(build.Environ(), environment...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(copied, "build", "*", "bootstrap.zip"))
	check.Must(t, err)
	programs := map[string]string{}
	for _, file := range files {
		z, err := zip.OpenReader(file)
		check.Must(t, err)
		defer z.Close()
		check.Equal(t, len(z.File), 1, file)
		check.Equal(t, z.File[0].Name, "bootstrap", file)
		check.Equal(t, z.File[0].Mode(), fs.FileMode(0o755), file)
		program, err := z.File[0].Open()
		check.Must(t, err)
		text, err := io.ReadAll(program)
		check.Must(t, err)
		programs[filepath.Base(filepath.Dir(file))] = string(text)
	}
	return programs
}

// copySources copies the sources of the functions.
func copySources(to, root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if strings.HasPrefix(entry.Name(), ".git") || slices.Contains([]string{"bin", "build", "testdata"}, name) {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		if base := entry.Name(); base != "Makefile" && !strings.HasPrefix(base, "go.") && filepath.Ext(base) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o644)
	})
}
