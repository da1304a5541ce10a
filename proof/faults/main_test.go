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

// worker is the compiled function.
var worker string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	var err error
	if worker, err = lambdaruntime.Build(context.Background(), ".", "./worker"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := os.RemoveAll(filepath.Dir(worker)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	return dynamodblocal.Main(m)
}
