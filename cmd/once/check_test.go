package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/cmd/once/internal/checks"
	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// answers replace those of DynamoDB Local, by the name of a call. They are those of
// an account without some setting or permission.
type answers map[string]string

const (
	backedUp = `{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"ENABLED"}}}`
	exposed  = `{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"DISABLED"}}}`
	denied   = `{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"User: ada is not authorized to perform: this"}`
)

// endpoint is of DynamoDB Local but for those answers. With a description, it
// changes that of the table.
func (s *scene) endpoint(said answers, describe func(table map[string]any)) string {
	s.Helper()
	return s.wired(func(r *wire.Request) (*wire.Response, error) {
		if text, ok := said[r.Operation]; ok {
			status := http.StatusOK
			if strings.Contains(text, "__type") {
				status = http.StatusBadRequest
			}
			return &wire.Response{Status: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: []byte(text)}, nil
		}
		answer, err := r.Send()
		if err != nil || describe == nil || r.Operation != "DescribeTable" {
			return answer, err
		}
		var out struct{ Table map[string]any }
		if err := json.Unmarshal(answer.Body, &out); err != nil {
			return nil, err
		}
		describe(out.Table)
		answer.Header = nil // the length and the checksum
		answer.Body, err = json.Marshal(out)
		return answer, err
	})
}

func protected(table map[string]any) { table["DeletionProtectionEnabled"] = true }

// verdicts returns the findings of a check, which writes nothing, by their names.
func (s *scene) verdicts(code int, args ...string) map[string]checks.Finding {
	s.Helper()
	before := s.items()
	got := s.found(code, append([]string{"check", "--read-only"}, args...)...)
	if after := s.items(); fmt.Sprint(after) != fmt.Sprint(before) {
		s.Errorf("the check has written: %v, was %v", after, before)
	}
	return got
}

func TestCheckAcceptsATableThatIsRight(t *testing.T) {
	s := newScene(t)
	got := s.verdicts(0, "--strict", "--endpoint", s.endpoint(answers{"DescribeContinuousBackups": backedUp}, protected))
	for _, name := range []string{
		"keys", "time to live", "point-in-time recovery", "deletion protection",
		"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem",
	} {
		check.Equal(t, got[name].Verdict, checks.Fine, name, got[name])
	}
	check.Equal(t, len(got), 8, got)
}

// A lack of the table is found, with advice.
func TestCheckFindsWhatIsNotRight(t *testing.T) {
	s := newScene(t)
	for name, c := range map[string]struct {
		said     answers
		describe func(map[string]any)
		args     []string
		code     int
		check    string
		verdict  checks.Verdict
		says     string
	}{
		"no backups":           {said: answers{"DescribeContinuousBackups": exposed}, check: "point-in-time recovery", verdict: checks.Warning, says: "PointInTimeRecoveryEnabled=true"},
		"no backups, strictly": {said: answers{"DescribeContinuousBackups": exposed}, args: []string{"--strict"}, code: cli.CodeNotRight, check: "point-in-time recovery", verdict: checks.Warning},
		"backups not known":    {said: answers{"DescribeContinuousBackups": denied}, check: "point-in-time recovery", verdict: checks.Warning, says: "not known"},
		"unprotected":          {check: "deletion protection", verdict: checks.Warning, says: "--deletion-protection-enabled"},
		"no time to live":      {said: answers{"DescribeTimeToLive": `{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}`}, check: "time to live", verdict: checks.Warning, says: "AttributeName=expiration"},
		"another's": {said: answers{"DescribeTimeToLive": `{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"ttl"}}`},
			code: cli.CodeNotRight, check: "time to live", verdict: checks.Wrong, says: "by ttl, which is not expiration"},
		"renamed": {said: answers{"DescribeTimeToLive": `{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"ttl"}}`},
			args: []string{"--attribute", "expiration=ttl"}, check: "time to live", verdict: checks.Fine},
		"may not put":      {said: answers{"PutItem": denied}, code: cli.CodeNotRight, check: "dynamodb:PutItem", verdict: checks.Wrong, says: "once policy"},
		"may not get":      {said: answers{"GetItem": denied}, code: cli.CodeNotRight, check: "dynamodb:GetItem", verdict: checks.Wrong, says: "is not authorized"},
		"may not update":   {said: answers{"UpdateItem": denied}, code: cli.CodeNotRight, check: "dynamodb:UpdateItem", verdict: checks.Wrong},
		"may not delete":   {said: answers{"DeleteItem": denied}, code: cli.CodeNotRight, check: "dynamodb:DeleteItem", verdict: checks.Wrong},
		"may not describe": {said: answers{"DescribeTable": denied}, check: "table", verdict: checks.Warning, says: "not known"},
		"being made":       {describe: func(d map[string]any) { d["TableStatus"] = "CREATING" }, code: cli.CodeNotRight, check: "status", verdict: checks.Wrong, says: "ACTIVE"},
		"replicas": {describe: func(d map[string]any) { d["Replicas"] = []any{map[string]any{"RegionName": "eu-west-1"}} },
			check: "replicas", verdict: checks.Warning, says: "one home Region"},
		"strong replicas": {describe: func(d map[string]any) {
			d["Replicas"], d["MultiRegionConsistency"] = []any{map[string]any{"RegionName": "eu-west-1"}}, "STRONG"
		}, check: "replicas", verdict: checks.Warning, says: "no transactions"},
		"an index": {describe: func(d map[string]any) { d["LocalSecondaryIndexes"] = []any{map[string]any{"IndexName": "i"}} },
			check: "indexes", verdict: checks.Warning, says: "10 GB"},
		"composite, it says": {args: []string{"--sort-key", "sk", "--partition", "p"}, code: cli.CodeNotRight, check: "keys", verdict: checks.Wrong, says: "functions need id (S), partition key; sk (S), sort key"},
	} {
		got := s.verdicts(c.code, append(c.args, "--endpoint", s.endpoint(c.said, c.describe))...)[c.check]
		if got.Verdict != c.verdict || !strings.Contains(got.Found+got.ToDo, c.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Users of Powertools and SAM first meet keys with a different name or type.
func TestCheckFindsWrongKeys(t *testing.T) {
	s := newScene(t)
	for name, kind := range map[string]types.ScalarAttributeType{"pk": types.ScalarAttributeTypeS, "id": types.ScalarAttributeTypeN} {
		table := s.table + "-" + name
		_, err := s.client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
			TableName: &table, BillingMode: types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &name, AttributeType: kind}},
			KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String(name), KeyType: types.KeyTypeHash}},
		})
		check.Must(t, err)
		got := s.verdicts(cli.CodeNotRight, "--table", table)
		if k := got["keys"]; k.Verdict != checks.Wrong || !strings.Contains(k.Found, fmt.Sprintf("%s (%s), partition key; functions need id (S)", name, kind)) {
			t.Errorf("%s: %+v", name, k)
		}
		got = s.found(cli.CodeNotRight, "check", "--table", table)
		if _, made := got[called]; made {
			t.Errorf("%s: a call was made in a table whose keys are wrong", name)
		}
		if _, tried := got["dynamodb:PutItem"]; tried {
			t.Errorf("%s: items were tried in a table whose keys are wrong", name)
		}
	}
	renamed := s.verdicts(0, "--table", s.table+"-pk", "--attribute", "id=pk")
	if renamed["keys"].Verdict != checks.Fine || renamed["dynamodb:PutItem"].Verdict != checks.Fine {
		t.Errorf("%+v", renamed)
	}
}

// A person reads a line for each check, and advice below it.
func TestCheckIsReadable(t *testing.T) {
	s := newScene(t)
	r := s.run("check", "--endpoint", s.endpoint(answers{"DescribeContinuousBackups": exposed}, protected))
	golden(t, "check", strings.ReplaceAll(r.out, s.table, "TABLE"))
	check.Equal(t, r.code, 0, r)
	if r := s.run("check", "--table", "nowhere"); r.code != cli.CodeNotRight || !strings.Contains(r.out, "there is no table nowhere") {
		t.Error(r)
	}
	if r := s.run("check", "--endpoint", "http://127.0.0.1:1"); r.code != cli.CodeNotRight || !strings.Contains(r.out, "was not reached") {
		t.Error(r)
	}
}
