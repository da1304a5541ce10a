package dynamo

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/lambda-once/once/idempotent/driver"
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
	if ok || err == nil || errors.Is(err, driver.ErrUnavailable) || len(client.sent) != 2 {
		t.Errorf("%v, %v; sent %q", ok, err, client.sent)
	}
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
	if !strings.Contains(client.sent[1], "attribute_not_exists(#steps)") || client.sent[2] != client.sent[0] {
		t.Errorf("sent %q", client.sent)
	}

	s, client = fakeStore(t, nil, refusedForPath, refused, refused)
	met, ok, err := s.Change(t.Context(), fence("op#1"), c)
	if ok || err != nil || met.Status != driver.Absent || len(client.sent) != 3 {
		t.Errorf("the fence lost meanwhile: %+v, %v, %v", met, ok, err)
	}
	s, _ = fakeStore(t, nil, refusedForPath, refused, refusedForPath)
	if _, ok, err := s.Change(t.Context(), fence("op#1"), c); ok || err == nil {
		t.Errorf("no map in the end: %v, %v", ok, err)
	}
}

func TestFinishedRecordsHaveNeitherLeaseNorSteps(t *testing.T) {
	s := localStore(t)
	r := claim("op#1")
	r.Status, r.Data = driver.Completed, []byte("1")
	got, ok, err := s.Create(t.Context(), r, time.Time{}, nil)
	stored := get(t, s, "op#1")
	if !ok || err != nil || !reflect.DeepEqual(got, stored) || !stored.Lease.IsZero() || stored.Steps != nil {
		t.Errorf("answered %+v, %v, %v\nstored %+v", got, ok, err, stored)
	}
}
