package recorditem

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// seeder builds attribute values from bytes: two of type and length for each.
type seeder struct{ b []byte }

func (s *seeder) byte() byte {
	if len(s.b) == 0 {
		return 0
	}
	c := s.b[0]
	s.b = s.b[1:]
	return c
}

func (s *seeder) bytes() []byte {
	n := min(int(s.byte()), len(s.b))
	b := s.b[:n:n]
	s.b = s.b[n:]
	return b
}

func (s *seeder) value(depth int) types.AttributeValue {
	kind := s.byte() % 12
	if depth > 150 {
		kind %= 5
	}
	switch kind {
	case 0:
		return attribute.Text(string(s.bytes()))
	case 1:
		return num(string(s.bytes()))
	case 2:
		return &types.AttributeValueMemberB{Value: s.bytes()}
	case 3:
		return &types.AttributeValueMemberBOOL{Value: s.byte() > 127}
	case 4:
		return &types.AttributeValueMemberNULL{Value: true}
	case 5:
		return &types.AttributeValueMemberSS{Value: []string{string(s.bytes())}}
	case 6:
		return &types.AttributeValueMemberNS{Value: []string{string(s.bytes())}}
	case 7:
		return &types.AttributeValueMemberBS{Value: [][]byte{s.bytes()}}
	case 8:
		return nil
	case 9:
		return &types.UnknownUnionMember{Tag: "X", Value: s.bytes()}
	case 10:
		list := []types.AttributeValue{}
		for range s.byte() % 8 {
			list = append(list, s.value(depth+1))
		}
		return &types.AttributeValueMemberL{Value: list}
	default:
		m := item{}
		for range s.byte() % 8 {
			m[string(s.bytes())] = s.value(depth + 1)
		}
		return &types.AttributeValueMemberM{Value: m}
	}
}

var attributeNames = []string{"id", "status", "expiration", "in_progress_expiration", "data", "validation", "owner", "attempt", "refunds", "steps", "began", "request", "ended"}

// FuzzDecode decodes items of any content. The result is a record that can be
// trusted, or an error. Every record fits a fence.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x00\x04op#1\x00\x0aINPROGRESS\x01\x0a1700000000\x01\x0d1700000000123\x00\x02{}\x00\x01f\x00\x02me\x01\x011\x01\x010\x0b\x01\x01a\x04"))
	f.Add([]byte("\x00\x04op#1\x00\x09COMPLETED\x01\x0a1700000000\x08\x0b\x02\x01a\x01\x0312e\x01b\x0a\x02\x03\xff\x04"))
	f.Add([]byte("\x00\x04op#1\x00\x09COMPLETED\x08\x08\x02\x05zabcd"))
	f.Add([]byte("\x00\x04op#1\x00\x09COMPLETED\x08\x08\x02\x04uwhy"))
	f.Add([]byte("\x00\x04op#1\x00\x09COMPLETED\x08\x08\x02\x04pref"))
	formats := []*Format{
		newFormat(f, Options{}), newFormat(f, Options{Native: true}), newFormat(f, Options{Layout: Layout{ID: "pk", SortKey: "id"}}),
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		seed := &seeder{b}
		stored := item{}
		for _, name := range attributeNames {
			if v := seed.value(0); v != nil {
				stored[name] = v
			}
		}
		for _, format := range formats {
			r, err := format.Record(stored)
			if err != nil {
				if !reflect.DeepEqual(r, driver.Record{}) {
					t.Fatalf("an error with a record: %+v", r)
				}
				continue
			}
			checkDecoded(t, format, stored, r)
		}
	})
}

func checkDecoded(t *testing.T, f *Format, stored item, r driver.Record) {
	t.Helper()
	if r.ID == "" || r.Status == "" || r.Attempt < 0 || r.Refunds < 0 || r.Data != nil && (r.Payload != "" || r.Unavailable != "") || r.Payload != "" && r.Unavailable != "" {
		t.Fatalf("decoded %+v", r)
	}
	if (stored["owner"] == nil) != (r.Owner == "") || (stored["attempt"] == nil) != (r.Attempt == 0) || (stored["in_progress_expiration"] == nil) != r.Lease.IsZero() || (stored["began"] == nil) != r.Began.IsZero() {
		t.Fatalf("a fence cannot tell what is absent: %+v", r)
	}
	check.Must(t, CheckTimes(r.Lease, r.Expires, r.Began))
	switch stored["data"].(type) {
	case nil, *types.AttributeValueMemberB:
	case *types.AttributeValueMemberS:
		if f.native && !json.Valid(r.Data) {
			t.Fatalf("not JSON: %q", r.Data)
		}
	default:
		if !json.Valid(r.Data) {
			t.Fatalf("not JSON: %q", r.Data)
		}
	}
}

// FuzzResult stores results of any content. They are read as the same bytes, or
// from the native form as equal JSON.
func FuzzResult(f *testing.F) {
	for _, data := range []string{
		"", "null", `"text"`, `{"a":[1,2.50,-0,1e400,true,null,"<&>\u2028"],"":{}}`, " { \"a\" : 1 }\n", "\"a\x00b\"", `{"a":`, "\xff\xfe\x00a", "\xc3", "gzip",
		strings.Repeat(`{"a":1},`, 25), strings.Repeat("\xff\x00", 100),
	} {
		f.Add([]byte(data))
	}
	f.Add([]byte(`{"a":[1.50,{"b":"\ud83d\ude00"}],"c":-1e-7}`))
	plain, zipped, native := newCodec(false, -1), newCodec(false, 0), newCodec(true, -1)
	f.Fuzz(func(t *testing.T, data []byte) {
		if data == nil {
			data = []byte{}
		}
		for _, c := range []*codec{plain, zipped, native} {
			v := c.Result(data)
			if s, ok := v.(*types.AttributeValueMemberS); ok && !utf8.ValidString(s.Value) {
				t.Fatalf("a string that the SDK would change: %q", s.Value)
			}
			r, err := c.decode(v)
			if err != nil || r.unavailable != "" || r.payload != "" || r.data == nil {
				t.Fatalf("%q, %v", r, err)
			}
			got := r.data
			if _, binary := v.(*types.AttributeValueMemberB); c == native && !binary {
				if !reflect.DeepEqual(jsonValue(t, got), jsonValue(t, data)) {
					t.Fatalf("%s became %s", data, got)
				}
			} else if !bytes.Equal(got, data) {
				t.Fatalf("%q became %q", data, got)
			}
		}
	})
}

func jsonValue(t *testing.T, data []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // tokens must agree
	check.Must(t, d.Decode(&v))
	return v
}
