package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/policy"
)

const tableARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/records"

// Each row is a task, with the actions that it is allowed. Package policy is compared with the
// grants of infra in a test of infra.
func TestPolicyAllowsATaskItsActions(t *testing.T) {
	s := newScene(t)
	for task, want := range map[string]string{
		"function": "dynamodb:DeleteItem dynamodb:GetItem dynamodb:PutItem dynamodb:UpdateItem",
		"resume":   "dynamodb:DeleteItem dynamodb:GetItem dynamodb:PutItem dynamodb:UpdateItem",
		"operator": "dynamodb:DeleteItem dynamodb:DescribeTable dynamodb:GetItem dynamodb:Scan dynamodb:UpdateItem",
		"sweep":    "dynamodb:DeleteItem dynamodb:Scan",
		"check":    "dynamodb:DescribeContinuousBackups dynamodb:DescribeTable dynamodb:DescribeTimeToLive",
	} {
		got := s.policy("--for", task).Statement[0]
		check.Equal(t, strings.Join(got.Action, " "), want, task)
		check.Equal(t, got.Resource, tableARN, task)
	}
}

func TestPolicyConfinesAFunctionToItsOperations(t *testing.T) {
	got := newScene(t).policy("--operation", "pay", "--operation", "refund").Statement[0]
	check.Deep(t, got.Condition, map[string]map[string]any{
		"ForAllValues:StringLike": {"dynamodb:LeadingKeys": []any{"pay#*", "refund#*"}},
		"Null":                    {"dynamodb:LeadingKeys": "false"},
	})
}

// Of the records, a check writes those of its own call alone.
func TestPolicyOfACheckConfinesItToItsOwnRecords(t *testing.T) {
	got := newScene(t).policy("--for", "check").Statement[1]
	check.Deep(t, got, policy.Statement{Effect: "Allow", Action: policy.Execute, Resource: tableARN, Condition: map[string]map[string]any{
		"ForAllValues:StringLike": {"dynamodb:LeadingKeys": []any{"*#once-check-*"}},
		"Null":                    {"dynamodb:LeadingKeys": "false"},
	}})
}

// The index has the keys of all operations, and a scan has no key: no condition confines it.
func TestPolicyOfAResumerScansTheIndexAlone(t *testing.T) {
	s := newScene(t)
	got := s.policy("--for", "resume", "--operation", "pay")
	check.Deep(t, got.Statement[0], s.policy("--operation", "pay").Statement[0])
	check.Deep(t, got.Statement[1:], []policy.Statement{{Effect: "Allow", Action: []string{"dynamodb:Scan"}, Resource: tableARN + "/index/lapsed"}})
}

func TestPolicyAllowsTheKeyThroughDynamoDBAlone(t *testing.T) {
	const key = "arn:aws:kms:eu-central-1:123456789012:key/1"
	got := newScene(t).policy("--key", key).Statement[1]
	check.Equal(t, got.Resource, key)
	check.Deep(t, got.Condition, map[string]map[string]any{"StringEquals": {"kms:ViaService": "dynamodb.eu-central-1.amazonaws.com"}})
}

func (s *scene) policy(args ...string) (d policy.Document) {
	s.Helper()
	check.Must(s.T, json.Unmarshal([]byte(s.ok(append([]string{"policy", "--table", tableARN}, args...)...)), &d))
	return d
}
