package canonical_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/internal/canonical"
	"github.com/lambda-once/once/internal/check"
)

type (
	onlyWrites struct{ Card string }
	embedded   struct{ ID string }
	list       struct {
		Next *list
		At   time.Time
		Raw  json.RawMessage
		Any  any
		By   map[string][]embedded
		_    int
		embedded
	}
)

func (onlyWrites) MarshalJSON() ([]byte, error) { return []byte(`"****"`), nil }

func TestUncarried(t *testing.T) {
	for _, test := range []struct {
		value any
		want  string
	}{
		{"", ""}, {0.5, ""}, {list{}, ""}, {&list{}, ""}, {[]byte{}, ""},
		{events.APIGatewayV2HTTPRequest{}, ""}, {events.SQSEvent{}, ""}, {events.DynamoDBEvent{}, ""}, {events.CloudWatchEvent{}, ""},
		{struct{ id string }{}, "field id of type struct { id string } is not exported"},
		{[]struct {
			User string `json:"-"`
		}{}, `field User of type struct { User string "json:\"-\"" } has the tag json:"-"`},
		{map[string]onlyWrites{}, "type canonical_test.onlyWrites either only writes or only reads its JSON itself"},
		{struct{ Err error }{}, "type error is an interface, whose values have no JSON to be read from"},
		{struct{ F func() }{}, "type func() has no JSON form"},
	} {
		check.Equal(t, canonical.Uncarried(reflect.TypeOf(test.value)), test.want, test.value)
	}
}
