package infra

import (
	"debug/elf"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/fake"
)

func TestFunctionRefuses(t *testing.T) {
	wantRefusals(t, map[string]func(*IdempotentFunctionProps){
		"Live.ProvisionedConcurrency: -1 is": live(-1),
		"Code: it is required":               func(p *IdempotentFunctionProps) { p.Code = "" },
		"Code: build the function first":     func(p *IdempotentFunctionProps) { p.Code = "absent.zip" },
		"Table: it is required":              func(p *IdempotentFunctionProps) { p.Table = nil },
		"Retention: -1s is negative":         func(p *IdempotentFunctionProps) { p.Retention = -time.Second },
		"Timeout: 1.5s is not whole seconds": func(p *IdempotentFunctionProps) { p.Timeout = 1500 * time.Millisecond },
		"Timeout: 16m0s is not":              func(p *IdempotentFunctionProps) { p.Timeout = 16 * time.Minute },
		`"pay" is blank or listed twice`:     func(p *IdempotentFunctionProps) { p.Operations = []string{"pay", "pay"} },
		`Execute does not allow "refund"`: func(p *IdempotentFunctionProps) {
			p.Execute, p.Operations = &ExecuteOptions{Operations: []string{"pay"}}, []string{"pay", "refund"}
		},
	}, func(change func(*IdempotentFunctionProps)) { newFunction(t, newStack(), change) })
}

// A crash leaves a claim until the timeout of the function has passed.
func TestTaskRetriesForLongerThanAClaimOfACrash(t *testing.T) {
	for timeout, want := range map[time.Duration]float64{time.Second: 5, 95 * time.Second: 5, 96 * time.Second: 6, 15 * time.Minute: 8} {
		retry := newFunction(t, newStack(), func(p *IdempotentFunctionProps) { longRecords(p); p.Timeout = timeout }).TaskRetry(time.Hour)
		check.Equal(t, *retry.MaxAttempts, want, timeout)
		var waits time.Duration
		for i := range int(*retry.MaxAttempts) {
			waits += time.Duration(*retry.Interval.ToSeconds(nil)) * time.Second << i
		}
		check.Equal(t, waits >= timeout+time.Minute, true, timeout)
		check.Equal(t, *retry.BackoffRate, 2.0)
		errors, err := json.Marshal(retry.Errors)
		check.Must(t, err)
		check.Equal(t, string(errors), `["InProgressError","LeaseLostError","StoreError","Lambda.Unknown","Runtime.ExitError","Sandbox.Timedout","States.Timeout",`+
			`"Lambda.AWSLambdaException","Lambda.ClientExecutionTimeoutException","Lambda.SdkClientException","Lambda.ServiceException","Lambda.TooManyRequestsException"]`)
	}
}

func TestTaskRetryRefuses(t *testing.T) {
	long := newFunction(t, newStack(), longRecords)
	long.TaskRetry(14 * day)
	wantRefusal(t, "execution: 0s is not up to 366 days", func() { long.TaskRetry(0) })
	wantRefusal(t, "shorter than the 672h0m1s for which an execution may be redriven", func() { long.TaskRetry(14*day + time.Second) })
	wantRefusal(t, "for which a state machine waits", func() { newFunction(t, newStack(), durable(16*time.Minute)).TaskRetry(time.Hour) })
}

// What Lambda cannot start is found before it is deployed.
func TestCodeThatCannotStartIsRefused(t *testing.T) {
	arm := fake.Program(elf.EM_AARCH64)
	for name, c := range map[string]struct {
		file  string // of the zip or, without one, of the folder
		entry string
		mode  os.FileMode
		text  []byte
		words string
	}{
		"a zip":                     {"f.zip", "bootstrap", 0o755, arm, ""},
		"a zip of a tool":           {"f.zip", "./bootstrap", 0o755, arm, ""},
		"a zip with a script":       {"f.zip", "bootstrap", 0o755, []byte("#!/bin/sh\n"), ""},
		"a folder":                  {"", "bootstrap", 0o755, arm, ""},
		"a folder without one":      {"", "main", 0o755, arm, "has no file bootstrap"},
		"a zip without one":         {"f.zip", "main", 0o755, arm, "has no file bootstrap"},
		"a zip of the folder":       {"f.zip", "orders/bootstrap", 0o755, arm, "has no file bootstrap"},
		"a zip of the root":         {"f.zip", "/bootstrap", 0o755, arm, "has no file bootstrap"},
		"a zip from elsewhere":      {"f.zip", "../bootstrap", 0o755, arm, "has no file bootstrap"},
		"a zip for amd64":           {"f.zip", "bootstrap", 0o755, fake.Program(elf.EM_X86_64), "not a program for arm64 (EM_X86_64); build it with GOOS=linux GOARCH=arm64"},
		"a folder for amd64":        {"", "bootstrap", 0o755, fake.Program(elf.EM_X86_64), "not a program for arm64 (EM_X86_64)"},
		"a program of macOS":        {"f.zip", "bootstrap", 0o755, []byte("\xcf\xfa\xed\xfe\x0c\x00\x00\x01\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00"), "not a Linux program"},
		"an empty bootstrap":        {"f.zip", "bootstrap", 0o755, nil, "not a Linux program"},
		"a short bootstrap":         {"", "bootstrap", 0o755, []byte("\x7fELF"), "not a Linux program"},
		"a zip, not executable":     {"f.zip", "bootstrap", 0o644, arm, "is not executable"},
		"a folder, not executable":  {"", "bootstrap", 0o644, arm, "is not executable"},
		"the program alone":         {"bootstrap", "", 0o755, arm, "neither a folder nor named .zip"},
		"a text that is named .zip": {"f.zip", "", 0o644, []byte("zip"), "is not a zip"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			code := filepath.Join(folder, c.file)
			var err error
			switch {
			case c.file == "":
				err = os.WriteFile(filepath.Join(folder, c.entry), c.text, c.mode)
			case c.entry == "":
				err = os.WriteFile(code, c.text, c.mode)
			default:
				err = fake.WriteZip(code, c.entry, c.mode, c.text)
			}
			check.Must(t, err)
			wantRefusal(t, c.words, func() {
				newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.Code = code })
			})
		})
	}
}
