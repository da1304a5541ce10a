package dynamo

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// DynamoDB's manual promises the item of a failed condition. Without it, the
// tests above read.
func TestItemOfARefusalIsItsRecord(t *testing.T) {
	s, net := intercepted(t)
	s.createTogether(t, 3, owner)
	net.on(opBatch, duplicates("of the answer", func(i, _ int) int { return i }, func(key any, item map[string]any) {
		if key == id(2) {
			item["expiration"] = map[string]string{"N": "1"}
		}
	}))
	net.sent()
	for i, m := range s.createTogether(t, 3, rival) {
		want := "of the answer"
		if i == 2 {
			want = owner // that one had expired: it went alone
		}
		check.False(t, m.ok, i)
		check.Nil(t, m.err, i)
		check.Equal(t, m.record.Owner, want, i)
	}
	check.Equal(t, net.sent(), opBatch+" PutItem")
}

// A function whose role lacks a permission works on, and says so once.
func TestDenialTurnsGroupCommitOff(t *testing.T) {
	denied := func(action string) wire.Carry {
		return refusing(400, "AccessDeniedException",
			"User: arn:aws:sts::1:assumed-role/r is not authorized to perform: dynamodb:"+action+" on resource: arn:aws:dynamodb:eu-central-1:1:table/t")
	}
	for name, c := range map[string]struct {
		op         string
		f          wire.Carry
		permission string
	}{
		"request":          {opBatch, denied("PartiQLInsert"), "dynamodb:PartiQLInsert"},
		"statements":       {opBatch, some("AccessDenied", odd), "dynamodb:PartiQLInsert"},
		"every statement":  {opBatch, some("AccessDenied", func(int) bool { return false }), "dynamodb:PartiQLInsert"},
		"read":             {opRead, denied("BatchGetItem"), "dynamodb:BatchGetItem"},
		"without its name": {opBatch, refusing(400, "AccessDeniedException", ""), "dynamodb:PartiQLInsert, PartiQLUpdate and PartiQLDelete"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			before := slog.Default()
			slog.SetDefault(slog.New(slog.NewJSONHandler(&log, nil)))
			t.Cleanup(func() { slog.SetDefault(before) })
			s, net := intercepted(t)
			net.on(c.op, c.f)
			for i, m := range append(s.createTogether(t, 6, owner), s.createTogether(t, 6, rival)...) {
				check.Equal(t, m.ok, i < 6)
				check.Nil(t, m.err)
				check.Equal(t, m.record.Owner, owner)
			}
			net.sent()
			for i, m := range s.changeTogether(t, 6, driver.Change{Status: driver.Completed, Data: []byte("1")}) {
				check.True(t, m.ok, i)
				check.Nil(t, m.err, i)
			}
			check.Equal(t, net.sent(), strings.TrimSpace(strings.Repeat("UpdateItem ", 6)))
			var line map[string]any
			if err := json.Unmarshal(log.Bytes(), &line); err != nil || line["permission"] != c.permission || line["table"] != s.table || line["level"] != "WARN" {
				t.Errorf("%v; logged %s", err, &log)
			}
		})
	}
}

// Credentials may be denied for a moment, which says nothing about the role's
// permissions.
func TestDeniedCredentialsLeaveGroupCommitOn(t *testing.T) {
	var denied atomic.Bool
	s, net := intercepted(t, func(o *dynamodb.Options) {
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			if denied.Load() {
				return aws.Credentials{}, &smithy.GenericAPIError{Code: "AccessDenied", Message: "not authorized to perform: sts:AssumeRole"}
			}
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		})
	})
	denied.Store(true)
	for i, m := range s.createTogether(t, 3, owner) {
		check.False(t, m.ok, i)
		check.Failed(t, m.err, i)
	}
	denied.Store(false)
	net.sent()
	for i, m := range s.createTogether(t, 3, owner) {
		check.True(t, m.ok, i)
		check.Nil(t, m.err, i)
	}
	check.Equal(t, net.sent(), opBatch)
}

// DynamoDB calls it a success to delete what is not there. DynamoDB Local
// refuses it, as the condition of a DeleteItem does.
func TestDeletionOfNoRecordIsNoSuccess(t *testing.T) {
	s, net := intercepted(t)
	net.on(opBatch, sendAnd(func(_ *wire.Request, out *responsesBody) error {
		for i, response := range out.Responses {
			if bytes.Contains(response, []byte("ConditionalCheckFailed")) {
				out.Responses[i] = encode(map[string]string{"TableName": s.table})
			}
		}
		return nil
	}))
	create(t, s, claim(id(0)))
	create(t, s, claim(id(2)))
	net.sent()
	for i, m := range s.changeTogether(t, 4, driver.Change{Release: driver.ReleaseDelete}) {
		check.Equal(t, m.ok, i%2 == 0)
		check.Nil(t, m.err)
		check.Equal(t, m.record.Status, driver.Absent)
	}
	check.Equal(t, net.sent(), opBatch)
}

// The item of another record says nothing about this one: its owner must not be
// taken for the owner of a key.
func TestRefusalWithTheItemOfAnotherRecordGoesAlone(t *testing.T) {
	s, net := intercepted(t)
	s.createTogether(t, 3, owner)
	net.on(opBatch, duplicates("of another", func(i, n int) int { return (i + 1) % n }, func(any, map[string]any) {}))
	net.sent()
	for i, m := range s.createTogether(t, 3, rival) {
		check.False(t, m.ok)
		check.Nil(t, m.err)
		check.Equal(t, m.record.ID, id(i))
		check.Equal(t, m.record.Owner, owner)
	}
	check.Equal(t, net.sent(), opBatch+" PutItem PutItem PutItem")
}
