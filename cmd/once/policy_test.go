package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/policy"
)

const tableARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/records"

// Each row is a task, with the actions that it is allowed. A test of infra compares whole policies
// with the grants.
func TestPolicyAllowsATaskItsActions(t *testing.T) {
	s := &scene{T: t}
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

// Of the records, a check writes those of its own call alone.
func TestPolicyOfACheckConfinesItToItsOwnRecords(t *testing.T) {
	got := (&scene{T: t}).policy("--for", "check").Statement[1]
	check.Deep(t, got, policy.Statement{Effect: "Allow", Action: policy.Execute, Resource: tableARN, Condition: map[string]map[string]any{
		"ForAllValues:StringLike": {"dynamodb:LeadingKeys": []any{"*#once-check-*"}},
		"Null":                    {"dynamodb:LeadingKeys": "false"},
	}})
}

func (s *scene) policy(args ...string) (d policy.Document) {
	s.Helper()
	check.Must(s.T, json.Unmarshal([]byte(s.ok(append([]string{"policy", "--table", tableARN}, args...)...)), &d))
	return d
}
