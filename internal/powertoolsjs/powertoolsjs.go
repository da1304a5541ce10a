// Package powertoolsjs runs a function with Powertools for AWS Lambda (TypeScript),
// for tests in which both libraries write one table. The functions are counterparts of
// examples/shared.
package powertoolsjs

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"

	"github.com/lambda-once/once/internal/nodemodules"
	"github.com/lambda-once/once/local/lambdaruntime"
)

//go:embed function
var sources embed.FS

// A Program is one of the functions. All do the same work.
type Program string

const (
	// MakeIdempotent wraps the work with the function makeIdempotent.
	MakeIdempotent Program = "function.mjs"
	// Middy has the middleware makeHandlerIdempotent for Middy in its place.
	Middy Program = "middy.mjs"
	// Changing is MakeIdempotent with a handler that adds ", changed" to the member
	// id of its event after the work.
	Changing Program = "changing.mjs"
)

// Function returns the program for a lambdaruntime. It needs Node 22 or later with
// npm, which installs its packages. Its environment is that of examples/shared,
// without POWERTOOLS_DIALECT.
func Function(ctx context.Context, log io.Writer, p Program) (lambdaruntime.Function, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return lambdaruntime.Function{}, fmt.Errorf("powertoolsjs: %w; install Node 22 or later", err)
	}
	dir, err := install(ctx, log)
	if err != nil {
		return lambdaruntime.Function{}, err
	}
	return lambdaruntime.Function{
		Name: "powertoolsjs", Binary: node, Args: []string{filepath.Join(dir, string(p))},
		Env: []string{"NODE_NO_WARNINGS=1"},
	}, nil
}

// Keys returns a program that computes keys: for each line of JSON on its standard
// input, it prints the id of the record that Powertools claims. See keys.mjs.
func Keys(ctx context.Context, log io.Writer) (*exec.Cmd, error) {
	dir, err := install(ctx, log)
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, "node", filepath.Join(dir, "keys.mjs")), nil
}

func install(ctx context.Context, log io.Writer) (string, error) {
	files, err := fs.Sub(sources, "function")
	if err != nil {
		return "", err
	}
	dir, err := nodemodules.Install(ctx, "powertoolsjs", files, log)
	if err != nil {
		return "", fmt.Errorf("powertoolsjs: %w", err)
	}
	return dir, nil
}
