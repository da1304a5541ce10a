package dynamo

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func validation(message string) result {
	return result{err: &smithy.GenericAPIError{Code: "ValidationException", Message: message}}
}

var (
	refusedForSize = validation("Item size has exceeded the maximum allowed size")
	refusedForPath = validation("The document path provided in the update expression is invalid for update")
)

func TestCreateRefusedForItsSize(t *testing.T) {
	s, client := fakeStore(t, nil, refusedForSize)
	r, ok, err := s.Create(t.Context(), driver.Record{ID: "op#1", Status: driver.Completed, Data: []byte("1")}, now, nil)
	if !ok || err != nil || r.Data != nil || r.Unavailable == "" || len(client.sent) != 2 || !strings.Contains(client.sent[1], `B"u`) {
		t.Errorf("%+v, %v, %v; sent %q", r, ok, err, client.sent)
	}
	s, client = fakeStore(t, nil, refusedForSize, refusedForSize)
	_, ok, err = s.Create(t.Context(), driver.Record{ID: "op#1", Status: driver.Completed, Data: []byte("1")}, now, nil)
	check.False(t, ok)
	check.Failed(t, err)
	check.False(t, errors.Is(err, driver.ErrUnavailable))
	check.Equal(t, len(client.sent), 2)
}

// Two steps of one owner finish at once, on a record without a map: the one
// that finds it made must add to it and not replace it.
func TestStepsMakeTheMapTogether(t *testing.T) {
	c := driver.Change{Steps: map[string][]byte{"a": nil}}
	refused := result{err: &types.ConditionalCheckFailedException{}}
	s, client := fakeStore(t, nil, refusedForPath, refused)
	_, ok, err := s.Change(t.Context(), fence("op#1"), c)
	if !ok || err != nil || len(client.sent) != 3 {
		t.Fatalf("%v, %v; sent %q", ok, err, client.sent)
	}
	check.Contains(t, client.sent[1], "attribute_not_exists(#steps)")
	check.Equal(t, client.sent[2], client.sent[0])

	s, client = fakeStore(t, nil, refusedForPath, refused, refused)
	met, ok, err := s.Change(t.Context(), fence("op#1"), c)
	check.False(t, ok, "the fence lost meanwhile")
	check.Nil(t, err)
	check.Equal(t, met.Status, driver.Absent)
	check.Equal(t, len(client.sent), 3)
	s, _ = fakeStore(t, nil, refusedForPath, refused, refusedForPath)
	_, ok, err = s.Change(t.Context(), fence("op#1"), c)
	check.False(t, ok, "no map in the end")
	check.Failed(t, err)
}

func TestTakeOverKeepsAttributesOfOtherPrograms(t *testing.T) {
	s := inOwnTable(t, nil)
	putItem(t, s, map[string]types.AttributeValue{
		"id": text("f#1"), "status": text("INPROGRESS"), "expiration": seconds(now.Add(time.Hour)), "in_progress_expiration": millis(now), "mine": text("stays"),
	})
	met := get(t, s, "f#1")
	f := driver.Fence{ID: met.ID, Owner: met.Owner, Attempt: met.Attempt, Lease: met.Lease}
	got, _ := change(t, s, f, driver.Change{Owner: rival, Lease: now.Add(time.Hour), Fingerprint: "g"}, true)
	check.Equal(t, got.Attempt, 2)
	check.Equal(t, got.Fingerprint, "g")
	check.Equal(t, got.Owner, rival)
	_, ok := rawItem(t, s, "f#1")["mine"]
	check.True(t, ok, "another program's attribute is gone")
}

func TestStepMakesAMissingMap(t *testing.T) {
	s := inOwnTable(t, nil)
	putItem(t, s, map[string]types.AttributeValue{"id": text("op#1"), "status": text("INPROGRESS"), "owner": text(owner)})
	one := driver.Change{Steps: map[string][]byte{"a": []byte("1")}}
	change(t, s, driver.Fence{ID: "op#1", Owner: rival}, one, false)
	_, stored := change(t, s, driver.Fence{ID: "op#1", Owner: owner}, one, true)
	check.Equal(t, string(stored.Steps["a"]), "1")
	met, _ := change(t, s, driver.Fence{ID: "absent", Owner: owner}, one, false)
	check.Equal(t, met.Status, driver.Absent)
}
