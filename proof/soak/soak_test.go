package soak

import (
	"context"
	"maps"
	"math/rand/v2"
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
	"github.com/lambda-once/once/local/serving"
	"github.com/lambda-once/once/proof/internal/tables"
	"github.com/lambda-once/once/proof/soak/worker"
)

func TestMain(m *testing.M) {
	worker.Serve()
	os.Exit(dynamodblocal.Main(m))
}

// A short soak finds nothing, and the same one finds each thing that is planted into
// its tables.
func TestSoak(t *testing.T) {
	t.Parallel()
	s, a := playEnough(t)
	t.Logf("\n%s", s.summary(a))
	if err := a.found.err(); err != nil {
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
			return plants.set(t, worker.Queue, "status", &types.AttributeValueMemberS{Value: "INPROGRESS"})
		}},
		{"leftover steps", "leftover", func(t *testing.T) string {
			return plants.set(t, worker.Steps, "steps", &types.AttributeValueMemberM{Value: tables.Item{}})
		}},
		{"another stored result", "wrong replay", func(t *testing.T) string {
			return plants.set(t, worker.Wrap, "data", &types.AttributeValueMemberS{Value: `{"key":"another","attempt":2,"effects":{}}`})
		}},
	} {
		t.Run(p.name, func(t *testing.T) {
			hash := p.plant(t)
			found := s.mustAudit(t).found
			if !slices.ContainsFunc(found, func(f finding) bool { return f.Kind == p.kind && f.Hash == hash }) {
				t.Errorf("the audit finds %v, want a %s of %s", found, p.kind, hash)
			}
			if err := found.err(); err == nil || !strings.Contains(err.Error(), hash) {
				t.Errorf("the error does not contain the hash: %v", err)
			}
		})
	}
}

// playEnough soaks for a short time, and for longer ones until enough has happened: a
// busy machine does little in a short time.
func playEnough(t *testing.T) (*stage, *auditor) {
	t.Helper()
	server, err := tables.Start(t.Context(), serving.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	duration := 8 * time.Second
	if testing.Short() {
		duration = 3 * time.Second
	}
	for ; ; duration *= 4 {
		seed := rand.Uint64()
		t.Logf("%v, seed %d", duration, seed)
		s, err := play(t.Context(), server, duration, seed)
		if err != nil {
			t.Fatal(err)
		}
		a := s.mustAudit(t)
		kinds := map[worker.Kind]bool{}
		for _, e := range s.ledger.entries {
			kinds[e.Kind] = kinds[e.Kind] || !e.Decline
		}
		enough := s.kills > 0 && s.weather.faults[throttled.name] > 0 && s.weather.requests["BatchExecuteStatement"] > 0 && s.ledger.duplicates > 0 &&
			len(s.ledger.entries) >= 30 && kinds[worker.Transaction] && kinds[worker.Queue] && kinds[worker.Steps] && kinds[worker.Wrap] && kinds[worker.Do]
		if enough || len(a.found) > 0 {
			return s, a
		}
		if duration > 4*time.Minute {
			t.Fatalf("so little happens in %v that the soak shows nothing:\n%s", duration, s.summary(a))
		}
	}
}

func (s *stage) mustAudit(t *testing.T) *auditor {
	t.Helper()
	a, err := s.audit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// planter changes what an audit reads.
type planter struct {
	*stage
	planted map[string]bool // keys
}

// key returns a key that succeeded, another one for each call.
func (s *planter) key(t *testing.T, kind worker.Kind) *entry {
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
	e := s.key(t, worker.Do)
	item, err := attributevalue.MarshalMap(worker.Effect{ID: "planted-" + e.Key, Key: e.Key, Slot: worker.Main, Delivery: "another", Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &s.effects, Item: item}); err != nil {
		t.Fatal(err)
	}
	return e.hash
}

// set changes an attribute of a record.
func (s *planter) set(t *testing.T, kind worker.Kind, attribute string, value types.AttributeValue) string {
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
	if err := Run(ctx, serving.Log(t), time.Hour, 0); err == nil {
		t.Error("it ends without an error")
	}
}
