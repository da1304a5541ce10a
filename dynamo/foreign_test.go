package dynamo

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func TestTakeOverKeepsAttributesOfOtherPrograms(t *testing.T) {
	s := localStore(t)
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
	s := localStore(t)
	putItem(t, s, map[string]types.AttributeValue{"id": text("op#1"), "status": text("INPROGRESS"), "owner": text(owner)})
	one := driver.Change{Steps: map[string][]byte{"a": []byte("1")}}
	change(t, s, driver.Fence{ID: "op#1", Owner: rival}, one, false)
	_, stored := change(t, s, driver.Fence{ID: "op#1", Owner: owner}, one, true)
	check.Equal(t, string(stored.Steps["a"]), "1")
	met, _ := change(t, s, driver.Fence{ID: "absent", Owner: owner}, one, false)
	check.Equal(t, met.Status, driver.Absent)
}
