package recorditem

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
)

// Limits of DynamoDB's documents, each kept with something to spare where its
// manual leaves room for interpretation.
const (
	maxNativeDepth    = 31 // 32 levels
	maxNativeName     = 60 << 10
	maxNumberDigits   = 38
	maxNumberExponent = 125
	minNumberExponent = -130
)

// toNative returns the attribute value of a JSON text, unless DynamoDB cannot
// hold it exactly. Numbers keep their tokens: through float64
// 9007199254740993 would become …992.
func toNative(data []byte) (types.AttributeValue, bool) {
	// Valid is called first, as the decoder's tokens alone allow some
	// malformed texts, and quietly replace bytes that are not UTF-8.
	if !utf8.Valid(data) || !json.Valid(data) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	token, err := d.Token()
	if err != nil {
		return nil, false
	}
	return nativeValue(d, token, 0)
}

func nativeValue(d *json.Decoder, token json.Token, depth int) (types.AttributeValue, bool) {
	switch t := token.(type) {
	case nil:
		return &types.AttributeValueMemberNULL{Value: true}, true
	case bool:
		return &types.AttributeValueMemberBOOL{Value: t}, true
	case json.Number:
		return &types.AttributeValueMemberN{Value: t.String()}, fitsNumber(t.String())
	case string:
		return attribute.Text(t), exactString(t)
	case json.Delim:
		switch {
		case depth >= maxNativeDepth:
			return nil, false
		case t == '[':
			return nativeList(d, depth+1)
		default:
			return nativeMap(d, depth+1)
		}
	}
	return nil, false
}

func nativeList(d *json.Decoder, depth int) (types.AttributeValue, bool) {
	list := []types.AttributeValue{}
	for {
		token, err := d.Token()
		if err != nil {
			return nil, false
		}
		if token == json.Delim(']') {
			return &types.AttributeValueMemberL{Value: list}, true
		}
		v, ok := nativeValue(d, token, depth)
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
}

func nativeMap(d *json.Decoder, depth int) (types.AttributeValue, bool) {
	m := map[string]types.AttributeValue{}
	for {
		token, err := d.Token()
		if err != nil {
			return nil, false
		}
		if token == json.Delim('}') {
			return &types.AttributeValueMemberM{Value: m}, true
		}
		name, ok := token.(string)
		if _, repeated := m[name]; !ok || repeated || name == "" || len(name) > maxNativeName || !exactString(name) {
			return nil, false
		}
		if token, err = d.Token(); err != nil {
			return nil, false
		}
		if m[name], ok = nativeValue(d, token, depth); !ok {
			return nil, false
		}
	}
}

// exactString reports whether a decoded string equals its text. A lone surrogate is
// decoded to U+FFFD, which then stands for several strings.
func exactString(s string) bool { return !strings.ContainsRune(s, utf8.RuneError) }

// fitsNumber reports whether DynamoDB stores a JSON number without rounding or
// refusing it. Zeros at the end count as digits, which costs nothing but the
// native form of some rare numbers.
func fitsNumber(token string) bool {
	mantissa, exponent := strings.TrimPrefix(token, "-"), 0
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		e, err := strconv.Atoi(mantissa[i+1:])
		if err != nil || e > 1000 || e < -1000 {
			return false
		}
		mantissa, exponent = mantissa[:i], e
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if len(digits) > maxNumberDigits {
		return false
	}
	lowest := exponent - len(fraction)
	highest := lowest + max(len(digits), 1) - 1
	return lowest >= minNumberExponent && highest <= maxNumberExponent
}

// maxReadDepth bounds the recursion over stored values. DynamoDB allows 32
// levels, but not every response need come from DynamoDB.
const maxReadDepth = 100

// fromNative returns the JSON text of an attribute value. The encoder sorts names, so
// that a record has the same bytes each time it is read.
func fromNative(v types.AttributeValue) ([]byte, error) {
	value, err := jsonValueOf(v, 0)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // changes nothing that need not change
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func jsonValueOf(v types.AttributeValue, depth int) (_ any, err error) {
	if depth > maxReadDepth {
		return nil, errors.New("a native result nested too deeply")
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value, checkUTF8(v.Value)
	case *types.AttributeValueMemberN:
		if !isNumber(v.Value) {
			return nil, errors.New("a native result with a number that is not valid in JSON")
		}
		return json.Number(v.Value), nil
	case *types.AttributeValueMemberBOOL:
		return v.Value, nil
	case *types.AttributeValueMemberNULL:
		return nil, nil
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, e := range v.Value {
			if list[i], err = jsonValueOf(e, depth+1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case *types.AttributeValueMemberM:
		m := make(map[string]any, len(v.Value))
		for name, e := range v.Value {
			if m[name], err = jsonValueOf(e, depth+1); err != nil {
				return nil, err
			}
			if err := checkUTF8(name); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return nil, fmt.Errorf("a native result with a value of type %s", attribute.TypeName(v))
}

func checkUTF8(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("a native result with a string that is not UTF-8")
	}
	return nil
}

// isNumber reports whether s is a number in JSON, unlike NaN, +1 and .5.
func isNumber(s string) bool {
	if s == "" || (s[0] != '-' && (s[0] < '0' || s[0] > '9')) || strings.TrimSpace(s) != s {
		return false
	}
	return json.Valid([]byte(s))
}
