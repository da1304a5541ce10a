package dynamo

import (
	"context"
	"strings"
	"testing"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func TestNativeStoresWhatDynamoDBRepresentsExactly(t *testing.T) {
	s := inOwnTable(t, &Options{Data: Native})
	deep := strings.Repeat("[", 31) + strings.Repeat("]", 31)
	for name, c := range map[string]struct{ json, kind, read string }{
		"object":           {`{"b":[1,true,null,"x"],"a":{}}`, "M", `{"a":{},"b":[1,true,null,"x"]}`},
		"string":           {`"te\"xt"`, "S", `"te\"xt"`},
		"empty string":     {`""`, "S", `""`},
		"not escaped":      {`"<&>\u00fc"`, "S", `"<&>ü"`},
		"null":             {`null`, "NULL", `null`},
		"bool":             {`false`, "BOOL", `false`},
		"large integer":    {`9007199254740993`, "N", `9007199254740993`},
		"38 digits":        {strings.Repeat("9", 38), "N", strings.Repeat("9", 38)},
		"39 digits":        {strings.Repeat("9", 39), "B", ""},
		"fraction":         {`0.1234567890123456789`, "N", `0.1234567890123456789`},
		"smallest":         {`1e-130`, "N", ""},
		"too small":        {`1e-131`, "B", ""},
		"largest":          {`9.9e125`, "N", ""},
		"too large":        {`1e126`, "B", ""},
		"huge exponent":    {`1e999999999999`, "B", ""},
		"zero, huge":       {`0e999`, "B", ""},
		"deep":             {deep, "L", deep},
		"too deep":         {"[" + deep + "]", "B", ""},
		"empty name":       {`{"a":{"":1}}`, "B", ""},
		"repeated name":    {`{"a":1,"a":2}`, "B", ""},
		"lone surrogate":   {`{"a":"\ud800"}`, "B", ""},
		"surrogate name":   {`{"\ud800":1}`, "B", ""},
		"not JSON":         {`{"a":1`, "B", ""},
		"trailing comma":   {`[1,]`, "B", ""},
		"two values":       {`1 2`, "B", ""},
		"empty":            {``, "B", ""},
		"not UTF-8":        {"\"\xff\"", "B", ""},
		"number in object": {`{"n":12345678901234567890123456789012345678}`, "M", `{"n":12345678901234567890123456789012345678}`},
	} {
		t.Run(name, func(t *testing.T) {
			create(t, s, claim(name))
			_, stored := change(t, s, fence(name), driver.Change{Status: driver.Completed, Data: []byte(c.json)}, true)
			item := rawItem(t, s, name)
			kind := attribute.TypeName(item["data"])
			check.Equal(t, kind, c.kind)
			want := c.read
			if c.kind == "B" {
				want = c.json
			}
			if want != "" && string(stored.Data) != want {
				t.Errorf("read %s, want %s", stored.Data, want)
			}
			check.True(t, stored.Data != nil, "read nothing")
		})
	}
}

type declinedError struct{ code string }

func (e *declinedError) Error() string { return "declined: " + e.code }

// With Native the stored result comes back with other bytes: sorted names,
// other escapes.
func TestNativeCompletionRecognizesItsOwnRecord(t *testing.T) {
	s, net := networked(t, &Options{Data: Native})
	run := func(key string, fn func(context.Context) (any, error)) (any, *idempotent.Event, error) {
		net.on("UpdateItem", firstTime(unanswered))
		x := executor(t, s, nil)
		ctx, event := adapter.WithEvent(t.Context())
		got, err := idempotent.Do(ctx, x, idempotent.Key{ID: key}, fn)
		return got, event, err
	}
	type payment struct{ Z, A string }
	want := payment{Z: "<1>", A: "2"}
	got, event, err := run("done", func(context.Context) (any, error) { return want, nil })
	check.Nil(t, err)
	check.Equal(t, event.Outcome, idempotent.OutcomeExecuted)
	check.Deep(t, got, want)
	_, event, err = run("declined", func(context.Context) (any, error) {
		return nil, idempotent.Permanent(&declinedError{"51"})
	})
	check.As[*declinedError](t, err)
	check.Equal(t, event.Outcome, idempotent.OutcomeFailed)
}
