package lambdaruntime

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A Function is a deployed function. A field with its zero value has its default.
type Function struct {
	// Args are passed to the binary. Default: none, as on AWS.
	Args []string
	// Binary is the compiled function. Required; see [Build].
	Binary string
	// Env is the function's own environment, as "NAME=value". The function sees
	// only these and Lambda's variables. Default: none.
	Env []string
	// Environments is the number of invocations that run at once; more than that
	// wait. Default: 1.
	Environments int
	// Grace is the minimum time of an invocation after [Environment.Thaw].
	// Default: one second.
	Grace time.Duration
	// InitTimeout is the time from the start of a process to its first
	// request for work. Default: ten seconds.
	InitTimeout time.Duration
	// Log receives the function's output line by line, each with the name
	// and the number of the environment. Default: discarded.
	Log io.Writer
	// Name is the name of the function. Default: the name of the binary.
	Name string
	// Timeout is the timeout of an invocation. Default: three seconds.
	Timeout time.Duration
	// Wire counts the function's calls, and can kill its process at any of them.
	// It requires a single environment, so that each call has one possible
	// process. Default: none.
	Wire *Wire
}

// Limits of AWS Lambda for a buffered invocation.
const (
	maxPayload  = 6 << 20
	maxResponse = 6291556
)

const (
	region  = "us-east-1"
	account = "123456789012"
	version = "$LATEST"
)

func (f Function) withDefaults() (Function, error) {
	if f.Binary == "" {
		return f, fmt.Errorf("lambdaruntime: Function.Binary is empty")
	}
	binary, err := filepath.Abs(f.Binary)
	if err != nil {
		return f, fmt.Errorf("lambdaruntime: %w", err)
	}
	if _, err := exec.LookPath(binary); err != nil {
		return f, fmt.Errorf("lambdaruntime: %w", err)
	}
	f.Binary = binary
	f.Name = cmp.Or(f.Name, filepath.Base(binary))
	f.Environments = cmp.Or(f.Environments, 1)
	if f.Environments < 0 {
		return f, fmt.Errorf("lambdaruntime: %d environments", f.Environments)
	}
	if f.Environments > 1 && f.Wire != nil {
		return f, fmt.Errorf("lambdaruntime: %d environments on one Wire", f.Environments)
	}
	f.Grace = cmp.Or(f.Grace, time.Second)
	f.InitTimeout = cmp.Or(f.InitTimeout, 10*time.Second)
	if f.Log == nil {
		f.Log = io.Discard
	}
	f.Timeout = cmp.Or(f.Timeout, 3*time.Second)
	return f, nil
}

func (f Function) arn() string {
	return "arn:aws:lambda:" + region + ":" + account + ":function:" + f.Name
}

// environ returns the whole environment of a process. HOME is missing as on AWS, so
// that the SDK cannot read the developer's own profile. Later entries override
// earlier ones, so the function may change all but the last.
func (f Function) environ(api, logStream string) []string {
	env := []string{
		"AWS_DEFAULT_REGION=" + region,
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=128",
		"AWS_LAMBDA_FUNCTION_NAME=" + f.Name,
		"AWS_LAMBDA_FUNCTION_VERSION=" + version,
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/" + f.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME=" + logStream,
		"AWS_REGION=" + region,
		"LAMBDA_TASK_ROOT=" + filepath.Dir(f.Binary),
		"PATH=/usr/local/bin:/usr/bin/:/bin:/opt/bin",
		"TMPDIR=" + os.TempDir(),
		"TZ=:UTC",
		"_HANDLER=bootstrap",
	}
	env = append(env, f.Env...)
	return append(env, "AWS_LAMBDA_RUNTIME_API="+api)
}
