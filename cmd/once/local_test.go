package main

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
)

func TestDynamoDBRunsACommand(t *testing.T) {
	s := newScene(t)
	r := s.run("dynamodb", "--", "sh", "-c", `echo "$AWS_ENDPOINT_URL_DYNAMODB"; exit 7`)
	if r.code != 7 || r.out != os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")+"\n" {
		t.Errorf("exit %d, %q\n%s", r.code, r.out, r.err)
	}
}

func TestDynamoDBCreatesTheTableOfACommand(t *testing.T) {
	s := newScene(t)
	self, err := os.Executable()
	check.Must(t, err)
	name := s.table + "-made"
	t.Cleanup(func() {
		if _, err := s.client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			t.Error(err)
		}
	})
	for range 2 { // a table that exists is used
		r := s.run("dynamodb", "--table", name, "--", "sh", "-c", `echo "$IDEMPOTENCY_TABLE" && "$0" check`, self)
		if table, found, _ := strings.Cut(r.out, "\n"); r.code != 0 || table != name || !strings.Contains(found, "time to live            on") {
			t.Errorf("exit %d, %q\n%s", r.code, r.out, r.err)
		}
	}
	if r := s.run("dynamodb", "--table", "no/table", "--", "echo", "ran"); r.code != cli.CodeFailed || r.out != "" || r.err == "" {
		t.Errorf("a name that is none: exit %d, %q\n%s", r.code, r.out, r.err)
	}
}

const paymentEvent = `{"version":"2.0","routeKey":"POST /payments","rawPath":"/payments",
"headers":{"content-type":"application/json","idempotency-key":"k-1"},
"requestContext":{"http":{"method":"POST","path":"/payments"}},
"body":"{\"amount\":12,\"currency\":\"EUR\",\"source\":\"card_1\"}"}`

func TestInvokeRunsAFunction(t *testing.T) {
	s := newScene(t)
	args := []string{"invoke", lambdaruntime.BuildTest(t, "../../examples", "./payments"), "--event", "-", "--times", "2", "--timeout", "10s",
		"--env", "IDEMPOTENCY_TABLE", "--env", "PAYMENTS_TABLE=" + s.table}
	r := s.typing(paymentEvent, args...)
	for _, line := range []string{
		"call 1 of 2: [^,]*, the handler ran [(]PutItem, PutItem, UpdateItem[)]\n",
		"call 2 of 2: [^,]*, the handler did not run [(]PutItem refused[)]\n",
	} {
		check.True(t, regexp.MustCompile(line).MatchString(r.err), line, r.err)
	}
	answers := strings.Split(r.out, "\n")
	if r.code != 0 || len(answers) != 3 || !strings.Contains(answers[0], `"statusCode":201`) ||
		strings.Contains(answers[0], "Idempotent-Replayed") || !strings.Contains(answers[1], `"Idempotent-Replayed":"true"`) {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := s.typing(paymentEvent, args[:len(args)-2]...); r.code != cli.CodeFailed || strings.Count(r.err, "PAYMENTS_TABLE is not set") != 1 {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := s.typing("[]", args...); r.code != cli.CodeFailed || !strings.Contains(r.err, "call 2 of 2: ") {
		t.Errorf("after a function error: exit %d\n%s%s", r.code, r.out, r.err)
	}
	args[1] = t.TempDir() // the event is read before the function is compiled
	if r := s.typing("{", args...); r.code != cli.CodeUsage || !strings.Contains(r.err, "not JSON") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}

// The function decides what a table that does not answer means.
func TestInvokeSucceedsWithoutTheTable(t *testing.T) {
	s := newScene(t)
	r := s.typing(paymentEvent, "invoke", lambdaruntime.BuildTest(t, "../../examples", "./payments"), "--event", "-", "--timeout", "1m",
		"--env", "IDEMPOTENCY_TABLE", "--env", "PAYMENTS_TABLE="+s.table, "--env", "AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:1")
	if r.code != 0 || !strings.Contains(r.out, `"statusCode":503`) {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}
