package dynamo

import (
	"bytes"
	"log"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/logging"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func TestEveryOperationIsOneRequest(t *testing.T) {
	s, net := networked(t, nil)
	foreign := map[string]types.AttributeValue{"id": text("foreign"), "status": text("INPROGRESS"), "owner": text(owner)}
	steps := driver.Change{Steps: map[string][]byte{"a": nil}}
	for _, c := range []struct {
		name string
		call func()
		want string
	}{
		{"first", func() { create(t, s, claim("op#1")) }, "PutItem"},
		{"duplicate", func() {
			_, ok, err := s.Create(t.Context(), claim("op#1"), now, nil)
			check.False(t, ok)
			check.Nil(t, err)
		}, "PutItem"},
		{"step", func() { change(t, s, fence("op#1"), steps, true) }, "UpdateItem GetItem"}, // change reads
		{"zombie", func() {
			change(t, s, driver.Fence{ID: "op#1", Owner: rival}, driver.Change{Lease: now}, false)
		}, "UpdateItem GetItem"},
		{"completion", func() {
			change(t, s, fence("op#1"), driver.Change{Status: driver.Completed, Data: []byte("1")}, true)
		}, "UpdateItem GetItem"},
		{"foreign", func() { putItem(t, s, foreign) }, "PutItem"},
		{"foreign step", func() { change(t, s, fence("foreign"), steps, true) }, "UpdateItem UpdateItem GetItem"},
	} {
		net.sent()
		c.call()
		check.Equal(t, net.sent(), c.want, c.name)
	}
}

func TestSharedWritesAreOneRequestEach(t *testing.T) {
	s, net := networked(t, nil)
	s.shareAll(1)
	owned, released := fence("op#1"), driver.Fence{ID: "op#1", Attempt: 1, Lease: driver.LeaseEnded}
	const shared = "BatchExecuteStatement"
	for _, c := range []struct {
		name   string
		fence  driver.Fence
		change driver.Change
		want   string
	}{
		{"extend", owned, driver.Change{Lease: now.Add(time.Hour), Expires: now.Add(2 * time.Hour)}, shared},
		{"step", owned, driver.Change{Steps: map[string][]byte{"a.b": []byte("1"), "c": nil}}, shared},
		{"step like a placeholder", owned, driver.Change{Steps: map[string][]byte{"#a": nil}}, "UpdateItem"},
		{"step with a quote", owned, driver.Change{Steps: map[string][]byte{`a"`: nil}}, "UpdateItem"},
		{"keep", owned, driver.Change{Release: driver.ReleaseKeep}, shared},
		{"take over", released, driver.Change{Owner: owner, Lease: now.Add(time.Minute), Expires: now.Add(time.Hour)}, "UpdateItem"},
		{"refund", owned, driver.Change{Release: driver.ReleaseRefund}, "UpdateItem"},
		{"adopt", driver.Fence{ID: "op#1", Attempt: 2, Lease: driver.LeaseEnded}, driver.Change{Owner: owner, Status: driver.Failed, Data: []byte("1"), Expires: now}, "UpdateItem"},
	} {
		if c.name == "extend" {
			net.sent()
			create(t, s, claim("op#1"))
			check.Equal(t, net.sent(), shared)
		}
		net.sent()
		if _, ok, err := s.Change(t.Context(), c.fence, c.change); !ok || err != nil {
			t.Fatalf("%s: ok %v, %v", c.name, ok, err)
		}
		check.Equal(t, net.sent(), c.want, c.name)
	}
	create(t, s, claim("op#2"))
	create(t, s, claim("op#3"))
	large := driver.Change{Status: driver.Completed, Data: make([]byte, maxStatementSize+1), Expires: now}
	net.sent()
	change(t, s, fence("op#2"), driver.Change{Status: driver.Completed, Data: []byte("1"), Expires: now.Add(time.Hour)}, true)
	change(t, s, fence("op#3"), large, true)
	create(t, s, claim("op#4"))
	change(t, s, fence("op#4"), driver.Change{Release: driver.ReleaseDelete}, true)
	// change reads.
	got, want := net.sent(), shared+" BatchGetItem UpdateItem BatchGetItem "+shared+" "+shared+" BatchGetItem"
	check.Equal(t, got, want, "complete, complete with a large result, create, delete")
}

// Duplicates are the normal case: a warning for each would drown the logs.
func TestDuplicatesAreNotLogged(t *testing.T) {
	_, table := newTable(t, nil)
	var logged, std bytes.Buffer
	log.SetOutput(&std)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	s := newStore(t, newClient(t, func(o *dynamodb.Options) { o.Logger = logging.NewStandardLogger(&logged) }), table, nil)
	create(t, s, claim("op#1"))
	if _, ok, err := s.Create(t.Context(), claim("op#1"), now, nil); ok || err != nil {
		t.Fatal(ok, err)
	}
	change(t, s, driver.Fence{ID: "op#1", Owner: rival}, driver.Change{Lease: now}, false)
	change(t, s, driver.Fence{ID: "op#1", Owner: rival}, driver.Change{Release: driver.ReleaseDelete}, false)
	check.True(t, logged.Len()+std.Len() <= 0, logged.Len()+std.Len())
}
