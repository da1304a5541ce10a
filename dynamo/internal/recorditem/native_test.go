package recorditem

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/internal/check"
)

// Both formats read what the other library writes, each with its own meaning
// of a string.
func TestNativeResultsBecomeJSON(t *testing.T) {
	n := func(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
	for name, c := range map[string]struct {
		v            types.AttributeValue
		text, native string // "" is an error
	}{
		"string":     {attribute.Text(`{"a":1}`), `{"a":1}`, `"{\"a\":1}"`},
		"number":     {n("12.50"), "12.50", "12.50"},
		"exponent":   {n("1E+3"), "1E+3", "1E+3"},
		"no number":  {n("NaN"), "", ""},
		"dot":        {n(".5"), "", ""},
		"plus":       {n("+1"), "", ""},
		"space":      {n("1 "), "", ""},
		"bool":       {&types.AttributeValueMemberBOOL{Value: true}, "true", "true"},
		"null":       {&types.AttributeValueMemberNULL{Value: true}, "null", "null"},
		"map":        {&types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"b": attribute.Text("x"), "a": n("1")}}, `{"a":1,"b":"x"}`, `{"a":1,"b":"x"}`},
		"list":       {&types.AttributeValueMemberL{Value: []types.AttributeValue{attribute.Text(""), n("1")}}, `["",1]`, `["",1]`},
		"set":        {&types.AttributeValueMemberSS{Value: []string{"a"}}, "", ""},
		"inner blob": {&types.AttributeValueMemberL{Value: []types.AttributeValue{tagged(TagRaw, nil)}}, "", ""},
		"nil inside": {&types.AttributeValueMemberL{Value: []types.AttributeValue{nil}}, "", ""},
		"not UTF-8":  {&types.AttributeValueMemberL{Value: []types.AttributeValue{attribute.Text("\xff")}}, "", ""},
	} {
		for native, want := range map[bool]string{false: c.text, true: c.native} {
			got, err := newCodec(native, -1).decode(c.v)
			check.Equal(t, string(got.data), want, name, native)
			check.Equal(t, got.unavailable, "", name, native)
			check.Equal(t, err == nil, want != "", name, native)
		}
	}
	var deep types.AttributeValue = n("1")
	for range 200 {
		deep = &types.AttributeValueMemberL{Value: []types.AttributeValue{deep}}
	}
	_, err := newCodec(false, -1).decode(deep)
	check.Failed(t, err, "200 levels were read")
}
