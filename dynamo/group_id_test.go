package dynamo

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// The item of another record says nothing about this one: its owner must not be
// taken for the owner of a key.
func TestRefusalWithTheItemOfAnotherRecordGoesAlone(t *testing.T) {
	s, wire := intercepted(t)
	s.createTogether(t, 3, owner)
	wire.on(opBatch, func(body []byte, pass func([]byte) []byte) ([]byte, error) {
		var in struct {
			Statements []struct{ Parameters []map[string]any }
		}
		var out responsesBody
		if err := errors.Join(json.Unmarshal(body, &in), json.Unmarshal(pass(body), &out)); err != nil {
			return nil, err
		}
		for i := range out.Responses {
			next := in.Statements[(i+1)%len(in.Statements)]
			item := map[string]any{"id": next.Parameters[0], "status": map[string]string{"S": "INPROGRESS"}, "owner": map[string]string{"S": "of another"}}
			out.Responses[i] = encode(map[string]any{"Error": map[string]any{"Code": "DuplicateItem", "Item": item}})
		}
		return encode(out), nil
	})
	wire.sent()
	for i, m := range s.createTogether(t, 3, rival) {
		check.False(t, m.ok)
		check.Nil(t, m.err)
		check.Equal(t, m.record.ID, id(i))
		check.Equal(t, m.record.Owner, owner)
	}
	check.Equal(t, wire.sent(), opBatch+" PutItem PutItem PutItem")
}
