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
	"github.com/lambda-once/once/internal/check"
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
	check.True(t, stderr.Len() <= 0, stderr.Len())
}

func duplicates(t *testing.T, table string) {
	client, _ := dynamodblocal.NewTable(t)
	options := client.Options()
	// The logger of every client that is made from config.LoadDefaultConfig.
	options.Logger = logging.NewStandardLogger(os.Stderr)
	store, err := dynamo.New(dynamodb.New(options), table, nil)
	check.Must(t, err)
	x, err := idempotent.New("op", store, nil)
	check.Must(t, err)
	do := func() (string, error) {
		return idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(context.Context) (string, error) {
			// Another caller, not a nested one.
			_, err := idempotent.Do(context.Background(), x, idempotent.Key{ID: "k"}, func(context.Context) (string, error) {
				return "", errors.New("ran twice")
			})
			check.Is(t, err, idempotent.ErrInProgress, "while it runs")
			return "result", nil
		})
	}
	for range 3 {
		got, err := do()
		check.Nil(t, err)
		check.Equal(t, got, "result")
	}
}
