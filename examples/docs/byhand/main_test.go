package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/local/crashtest"
	"github.com/lambda-once/once/local/dynamodblocal"
)

func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(m)) }

// play returns how each payment of 30 cents can be booked other than once.
func play(t *testing.T, by string) (broken []string) {
	t.Helper()
	client, table := dynamodblocal.NewTable(t)
	report, err := crashtest.Play(t.Context(), crashtest.Function{
		Env:     []string{"BY=" + by, "TABLE=" + table},
		Servers: []crashtest.Server{{Variable: "AWS_ENDPOINT_URL_DYNAMODB", URL: *client.Options().BaseEndpoint}},
	}, func(_ context.Context, run string) (event []byte, err error) {
		return fmt.Appendf(nil, `{"paymentId": %q, "account": "account-%s", "cents": 30}`, run, run), nil
	}, func(ctx context.Context, run string) error {
		out, err := client.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: &table, Key: item{"id": text("account-" + run)}, ConsistentRead: aws.Bool(true),
		})
		if err != nil {
			return err
		}
		var account struct{ Balance int }
		if err := attributevalue.UnmarshalMap(out.Item, &account); err != nil || account.Balance != 30 {
			return fmt.Errorf("the balance is %d, want 30 (%v)", account.Balance, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v", report)
	for _, r := range report.Results {
		if r.Err != nil {
			t.Error(r.Err)
		}
		if r.Broken != nil {
			broken = append(broken, strings.TrimSpace(fmt.Sprintf("%v %s", r.Crash, r.Call)))
		}
	}
	return broken
}

// Kills alone find nothing in either.
func TestFunctionByHandIsBrokenByAFreezeAndByAnotherPayload(t *testing.T) {
	t.Parallel()
	if got, want := play(t, "hand"), []string{"frozen before dynamodb TransactWriteItems", "other payload"}; !slices.Equal(got, want) {
		t.Errorf("broken: %q, want %q", got, want)
	}
}

func TestFunctionWithOnceIsBrokenByNothing(t *testing.T) {
	t.Parallel()
	if got := play(t, "once"); got != nil {
		t.Errorf("broken: %q", got)
	}
}
