package soak

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/proof/internal/tables"
	"github.com/lambda-once/once/proof/soak/internal/job"
)

func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(m)) }

// A short soak finds nothing, and the same one finds each thing that is planted into
// its tables.
func TestSoak(t *testing.T) {
	t.Parallel()
	s, v := playEnough(t)
	t.Logf("\n%s", s.summary(v))
	if err := v.err(); err != nil {
		t.Fatal(err)
	}
	plants := &planter{s, map[string]bool{}}
	// TestAuditFinds plants everything else, without tables.
	for _, p := range []struct {
		name, kind string
		plant      func(t *testing.T) (hash string)
	}{
		{"an effect of plain work", "double effect", plants.plantEffect},
		{"a leaked lease", "leaked lease", func(t *testing.T) string {
			return plants.set(t, job.Queue, "status", &types.AttributeValueMemberS{Value: "INPROGRESS"})
		}},
		{"leftover steps", "leftover", func(t *testing.T) string {
			return plants.set(t, job.Steps, "steps", &types.AttributeValueMemberM{Value: tables.Item{}})
		}},
		{"another stored result", "wrong replay", func(t *testing.T) string {
			return plants.set(t, job.Wrap, "data", &types.AttributeValueMemberS{Value: `{"key":"another","attempt":2,"effects":{}}`})
		}},
	} {
		t.Run(p.name, func(t *testing.T) {
			hash := p.plant(t)
			v := s.mustAudit(t)
			if !slices.ContainsFunc(v.findings, func(f finding) bool { return f.Kind == p.kind && f.Hash == hash }) {
				t.Errorf("the audit finds %v, want a %s of %s", v.findings, p.kind, hash)
			}
			if err := v.err(); err == nil || !strings.Contains(err.Error(), hash) {
				t.Errorf("the error does not contain the hash: %v", err)
			}
		})
	}
}

// playEnough soaks for a short time, and for longer ones until enough has happened: a
// busy machine does little in a short time.
func playEnough(t *testing.T) (*stage, verdict) {
	t.Helper()
	duration := 8 * time.Second
	if testing.Short() {
		duration = 3 * time.Second
	}
	for ; ; duration *= 4 {
		s, err := newStage(t.Context(), logWriter{t}, Options{Duration: duration, Root: "../.."})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.close(); err != nil {
				t.Error(err)
			}
		})
		if err := s.play(t.Context()); err != nil {
			t.Fatal(err)
		}
		v := s.mustAudit(t)
		kinds := map[job.Kind]bool{}
		for _, e := range s.ledger.entries {
			kinds[e.Kind] = kinds[e.Kind] || !e.Decline
		}
		enough := s.kills > 0 && s.faults[string(throttled)] > 0 && s.requests["BatchExecuteStatement"] > 0 && s.ledger.duplicates > 0 &&
			len(s.ledger.entries) >= 30 && kinds[job.Transaction] && kinds[job.Queue] && kinds[job.Steps] && kinds[job.Wrap] && kinds[job.Do]
		if enough || v.err() != nil {
			return s, v
		}
		if duration > 4*time.Minute {
			t.Fatalf("so little happens in %v that the soak shows nothing:\n%s", duration, s.summary(v))
		}
	}
}

func (s *stage) mustAudit(t *testing.T) verdict {
	t.Helper()
	v, err := s.audit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// planter changes what an audit reads.
type planter struct {
	*stage
	planted map[string]bool // keys
}

// key returns a key that succeeded, another one for each call.
func (s *planter) key(t *testing.T, kind job.Kind) *entry {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(s.ledger.entries)) {
		if e := s.ledger.entries[key]; e.Kind == kind && !e.Decline && !s.planted[key] {
			s.planted[key] = true
			return e
		}
	}
	t.Fatalf("no key of kind %s", kind)
	return nil
}

// plantEffect repeats the effect of a key.
func (s *planter) plantEffect(t *testing.T) string {
	e := s.key(t, job.Do)
	item, err := attributevalue.MarshalMap(job.Effect{ID: "planted-" + e.Key, Key: e.Key, Kind: e.Kind, Slot: job.Main, Delivery: "another", Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &s.effects, Item: item}); err != nil {
		t.Fatal(err)
	}
	return e.hash
}

// set changes an attribute of a record.
func (s *planter) set(t *testing.T, kind job.Kind, attribute string, value types.AttributeValue) string {
	t.Helper()
	e := s.key(t, kind)
	_, err := s.tables.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:                 &s.records,
		Key:                       tables.Item{"id": &types.AttributeValueMemberS{Value: e.record}},
		UpdateExpression:          aws.String("SET #a = :v"),
		ConditionExpression:       aws.String("attribute_exists(id)"),
		ExpressionAttributeNames:  map[string]string{"#a": attribute},
		ExpressionAttributeValues: tables.Item{":v": value},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e.hash
}

// A soak that is interrupted returns, and leaves no process.
func TestInterruptedSoakEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	if err := Run(ctx, logWriter{t}, Options{Duration: time.Hour, Root: "../.."}); err == nil {
		t.Error("it ends without an error")
	}
}

type logWriter struct{ t *testing.T }

func (w logWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}
