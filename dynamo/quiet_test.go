package dynamo_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/local/dynamodblocal"
)

const quietTable = "ONCE_TEST_QUIET_TABLE"

// What a duplicate costs in a log is seen on the stderr of a process, as
// CloudWatch sees it: nothing.
func TestDuplicateSaysNothing(t *testing.T) {
	if table := os.Getenv(quietTable); table != "" {
		duplicates(t, table)
		return
	}
	_, table := dynamodblocal.NewTable(t)
	var stdout, stderr bytes.Buffer
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDuplicateSaysNothing$", "-test.v")
	child.Env = append(os.Environ(), quietTable+"="+table)
	child.Stdout, child.Stderr = &stdout, &stderr
	err := child.Run()
	if err != nil || !bytes.Contains(stdout.Bytes(), []byte("--- PASS: TestDuplicateSaysNothing")) {
		t.Fatalf("%v\n%s%s", err, &stdout, &stderr)
	}
	if stderr.Len() > 0 {
		t.Errorf("said:\n%s", &stderr)
	}
}

func duplicates(t *testing.T, table string) {
	client, _ := dynamodblocal.NewTable(t)
	options := client.Options()
	// The logger of every client that is made from config.LoadDefaultConfig.
	options.Logger = logging.NewStandardLogger(os.Stderr)
	store, err := dynamo.New(dynamodb.New(options), table, nil)
	if err != nil {
		t.Fatal(err)
	}
	x, err := idempotent.New("op", store, nil)
	if err != nil {
		t.Fatal(err)
	}
	do := func() (string, error) {
		return idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(context.Context) (string, error) {
			// Another caller, not a nested one.
			_, err := idempotent.Do(context.Background(), x, idempotent.Key{ID: "k"}, func(context.Context) (string, error) {
				return "", errors.New("ran twice")
			})
			if !errors.Is(err, idempotent.ErrInProgress) {
				t.Errorf("while it runs: %v", err)
			}
			return "result", nil
		})
	}
	for range 3 {
		if got, err := do(); err != nil || got != "result" {
			t.Errorf("%q, %v", got, err)
		}
	}
}
