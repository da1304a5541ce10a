package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// worker and silent are the compiled functions.
var worker, silent string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	for pkg, binary := range map[string]*string{"./worker": &worker, "./silent": &silent} {
		var err error
		if *binary, err = lambdaruntime.Build(context.Background(), ".", pkg); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() {
			if err := os.RemoveAll(filepath.Dir(*binary)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}()
	}
	return dynamodblocal.Main(m)
}
