// Package coldstart bounds the cost of Once before main: the size of the
// program and the time it takes to start. It compares a program that calls
// DynamoDB by hand with a protected one.
package coldstart

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
)

const (
	mostBytes = 1_000_000
	// mostMade bounds the allocations of packages before main: by a target of "make
	// bench", in less than a millisecond.
	mostMade = 100_000
)

// compile builds a program as docs/deploy.md says, and without symbols.
func compile(t *testing.T, name, system, architecture string) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "bootstrap")
	command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w",
		"-o", binary, "./"+name)
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+architecture)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return binary
}

func TestProtectedFunctionIsLittleLargerThanABareOne(t *testing.T) {
	bare, protected := loaded(t, compile(t, "bare", "linux", "arm64")), loaded(t, compile(t, "protected", "linux", "arm64"))
	t.Logf("%d bytes and %d bytes: %d more", bare, protected, protected-bare)
	if added := protected - bare; added <= 0 || added >= mostBytes {
		t.Errorf("Once adds %d bytes to a function, want less than %d", added, mostBytes)
	}
}

// loaded returns the bytes of a program that are loaded. The size of its file
// grows in steps of 64 KB.
func loaded(t *testing.T, binary string) (bytes int) {
	t.Helper()
	f, err := elf.Open(binary)
	check.Must(t, err)
	defer f.Close()
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Type != elf.SHT_NOBITS {
			bytes += int(s.Size)
		}
	}
	return bytes
}

func TestProtectedFunctionInitializesLittleMoreThanABareOne(t *testing.T) {
	bare, protected := compile(t, "bare", runtime.GOOS, runtime.GOARCH), compile(t, "protected", runtime.GOOS, runtime.GOARCH)
	// The load of this machine disturbs the time of single runs. The log is for
	// "make bench".
	var millis []float64
	made := 0
	for range 11 {
		of, own := initializations(t, bare), 0.0
		made = 0
		for pkg, i := range initializations(t, protected) {
			if _, ok := of[pkg]; !ok {
				own += i.millis
				made += i.bytes
			}
		}
		millis = append(millis, own)
	}
	slices.Sort(millis)
	t.Logf("%.3f ms in packages that only the protected function has, of %.3f to %.3f", millis[len(millis)/2], millis[0], millis[len(millis)-1])
	if made <= 0 || made >= mostMade {
		t.Errorf("Once adds %d bytes before main, want less than %d", made, mostMade)
	}
}

// Parts that few calls need, such as compressors, are made by the first that does.
func TestConstructorsAllocateLittle(t *testing.T) {
	const most, times = 5_000, 100
	client := dynamodb.New(dynamodb.Options{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		store, err := dynamo.New(client, "idempotency", nil)
		check.Must(t, err)
		if _, err := idempotent.New("place-order", store, nil); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	bytes := (after.TotalAlloc - before.TotalAlloc) / times
	t.Logf("%d bytes", bytes)
	check.True(t, bytes <= most, "a store and an executor take", bytes, "bytes, more than", most)
}

var initLine = regexp.MustCompile(`(?m)^init (\S+) @\S+ ms, (\S+) ms clock, (\d+) bytes, `)

// An initialization is the work of a package before main.
type initialization struct {
	millis float64
	bytes  int
}

func initializations(t *testing.T, binary string) map[string]initialization {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary)
	// Without AWS_LAMBDA_RUNTIME_API, lambda.Start ends the process.
	command.Env = []string{"GODEBUG=inittrace=1", "AWS_REGION=us-east-1", "IDEMPOTENCY_TABLE=idempotency"}
	out, err := command.CombinedOutput()
	if !strings.Contains(string(out), "AWS_LAMBDA_RUNTIME_API") {
		t.Fatalf("%v, and no end by lambda.Start: %s", err, out)
	}
	all := map[string]initialization{}
	for _, line := range initLine.FindAllStringSubmatch(string(out), -1) {
		millis, err := strconv.ParseFloat(line[2], 64)
		check.Must(t, err)
		bytes, err := strconv.Atoi(line[3])
		check.Must(t, err)
		all[line[1]] = initialization{millis, bytes}
	}
	if len(all) < 10 {
		t.Fatalf("no trace of initializations: %s", out)
	}
	return all
}
