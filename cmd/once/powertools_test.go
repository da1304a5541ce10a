package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/internal/check"
)

// powertools writes a record as Powertools for AWS Lambda does.
func (s *scene) powertools(id string, lease int64) {
	s.Helper()
	item := map[string]types.AttributeValue{
		"id": text(id), "status": text("INPROGRESS"), "expiration": number(time.Now().Add(time.Hour).Unix()),
	}
	if lease > 0 {
		item["in_progress_expiration"] = number(lease)
	}
	s.put(item)
}

// powertoolsClaims makes the claim of Powertools, and reports whether it holds.
func (s *scene) powertoolsClaims(id string) bool {
	s.Helper()
	condition := "attribute_not_exists(id) OR expiration < :now OR (#s = :p AND attribute_exists(in_progress_expiration) AND in_progress_expiration < :ms)"
	_, err := s.client.PutItem(s.Context(), &dynamodb.PutItemInput{
		TableName: &s.table, ConditionExpression: &condition,
		Item:                     map[string]types.AttributeValue{"id": text(id), "status": text("INPROGRESS"), "expiration": number(9_999_999_999)},
		ExpressionAttributeNames: map[string]string{"#s": "status"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":p": text("INPROGRESS"), ":now": number(time.Now().Unix()), ":ms": number(time.Now().UnixMilli()),
		},
	})
	var held *types.ConditionalCheckFailedException
	if err != nil && !errors.As(err, &held) {
		s.Fatal(err)
	}
	return err == nil
}

// A fraction of a millisecond is no mistake: TypeScript functions write it.
func TestReleasedRecordOfPowertoolsRunsAgain(t *testing.T) {
	s := newScene(t)
	s.put(map[string]types.AttributeValue{
		"id": text("app.handler#1"), "status": text("INPROGRESS"), "expiration": number(time.Now().Add(time.Hour).Unix()),
		"in_progress_expiration": &types.AttributeValueMemberN{Value: "1700000000000.25"},
	})
	if out := s.ok("inspect", "app.handler#1"); strings.Contains(out, "problem") || !strings.Contains(out, "lapsed") {
		t.Error(out)
	}
	s.ok("release", "app.handler#1", "--yes")
	check.True(t, s.powertoolsClaims("app.handler#1"), "Powertools cannot claim it")
	s.powertools("app.handler#2", 0)
	s.refused(cli.CodeRefused, "the record has no lease", "release", "app.handler#2", "--yes")
	if s.powertoolsClaims("app.handler#2") {
		t.Fatal("Powertools claims a record that blocks")
	}
	s.ok("release", "app.handler#2", "--yes", "--force")
	check.True(t, s.powertoolsClaims("app.handler#2"), "Powertools cannot claim it")
}

func TestResolvedRecordOfPowertoolsIsReplayed(t *testing.T) {
	s := newScene(t)
	s.powertools("app.handler#1", time.Now().Add(-time.Hour).UnixMilli())
	s.refused(cli.CodeRefused, "which has no FAILED", "resolve", "app.handler#1", "--failed", "no", "--yes")
	if r := s.typing(`{"n":9007199254740993}`, "resolve", "--retention", "24h", "app.handler#1", "--completed", "--data", "-", "--yes", "--native"); r.code != 0 {
		t.Fatal(r)
	}
	out, err := s.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &s.table, Key: map[string]types.AttributeValue{"id": text("app.handler#1")}})
	check.Must(t, err)
	data, ok := out.Item["data"].(*types.AttributeValueMemberM)
	if !ok || data.Value["n"].(*types.AttributeValueMemberN).Value != "9007199254740993" {
		t.Errorf("data is %#v", out.Item["data"])
	}
}
