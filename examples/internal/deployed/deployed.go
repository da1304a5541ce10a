// Package deployed runs the function of an example as a compiled program, in the local
// Lambda runtime, for its tests.
package deployed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// Binary is the compiled function of the test's folder.
var Binary string

// Main compiles the function and then runs tests, which returns the code for os.Exit.
func Main(tests func() int) (code int) {
	var err error
	if Binary, err = lambdaruntime.Build(context.Background(), ".", "."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := os.RemoveAll(filepath.Dir(Binary)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	return tests()
}

// Start starts the compiled function, or f.Binary, until the test ends. It leads the
// function to DynamoDB Local if that runs. Without a Timeout the function has 10 s.
func Start(t lambdaruntime.TB, f lambdaruntime.Function, env ...string) *lambdaruntime.Runtime {
	t.Helper()
	f.Binary, f.Timeout, f.InitTimeout = cmp.Or(f.Binary, Binary), cmp.Or(f.Timeout, 10*time.Second), time.Minute
	f.Env = slices.Clip(f.Env) // of several functions
	for _, name := range []string{"AWS_ENDPOINT_URL_DYNAMODB", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		if value, ok := os.LookupEnv(name); ok {
			f.Env = append(f.Env, name+"="+value)
		}
	}
	f.Env = append(f.Env, env...)
	return lambdaruntime.StartTest(t, f)
}

// An Invoker is a function, or one of its environments.
type Invoker interface {
	Invoke(ctx context.Context, payload []byte) (lambdaruntime.Response, error)
}

// Call sends an event and decodes the response. The error is that of the function, a
// *lambdaruntime.FunctionError, or of the invocation.
func Call[T any](ctx context.Context, to Invoker, event any) (result T, err error) {
	payload, err := json.Marshal(event)
	if err != nil {
		return result, err
	}
	r, err := to.Invoke(ctx, payload)
	switch {
	case err != nil:
		return result, err
	case r.FunctionError != nil:
		return result, r.FunctionError
	}
	return result, json.Unmarshal(r.Payload, &result)
}

// Failure returns the type of a function's error, or the text of an error without one.
func Failure(err error) string {
	if failed, ok := errors.AsType[*lambdaruntime.FunctionError](err); ok {
		return failed.Type
	}
	return fmt.Sprint(err)
}

// FailsToStart requires that the function exits before it receives an event, with an
// error that contains a text.
func FailsToStart(t lambdaruntime.TB, f Invoker, want string) {
	t.Helper()
	_, err := f.Invoke(context.Background(), []byte("{}"))
	failed, ok := errors.AsType[*lambdaruntime.InitError](err)
	if !ok || failed.Status != "exit status 1" || !strings.Contains(failed.Output, want) {
		t.Fatalf("got %v, want a failure that says %s", err, want)
	}
}

// Items returns the items of a table.
func Items(t dynamodblocal.TB, client *dynamodb.Client, table string) (items []map[string]types.AttributeValue) {
	t.Helper()
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(context.Background())
		if err != nil {
			t.Fatalf("%v", err)
		}
		items = append(items, page.Items...)
	}
	return items
}
