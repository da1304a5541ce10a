package recorditem

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/klauspost/compress/zstd"

	"github.com/lambda-once/once/internal/attribute"
)

func TestTextIsStoredAsItIs(t *testing.T) {
	c := testCodec(t, false, 100)
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 101)
	for i := range noise {
		noise[i] = byte('!' + r.IntN(90))
	}
	for text, want := range map[string]string{
		`{"a":1}`:                  "S",
		"":                         "S",
		"zstd":                     "S",
		"\xff":                     "B",
		strings.Repeat("a", 100):   "S",
		strings.Repeat("a", 101):   "B",
		string(noise):              "S", // would not become smaller
		"r" + string([]byte{0xc0}): "B",
	} {
		if got := attribute.TypeName(c.encode([]byte(text))); got != want {
			t.Errorf("%.20q is stored as %s, want %s", text, got, want)
		}
	}
}

func testCodec(t testing.TB, native bool, above int) *codec {
	t.Helper()
	c, err := newCodec(native, above)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTagsCannotCollide(t *testing.T) {
	for _, native := range []bool{false, true} {
		c := testCodec(t, native, 1)
		if got, err := c.decode(Unavailable("why\xff")); err != nil || !reflect.DeepEqual(got, content{unavailable: "why\xff"}) {
			t.Errorf("a marker: %q, %v", got, err)
		}
		if got, err := c.decode(Unavailable("")); err != nil || got.unavailable == "" {
			t.Errorf("a marker without reason: %q, %v", got, err)
		}
		if got, err := c.decode(Elsewhere("once/1\xff")); err != nil || !reflect.DeepEqual(got, content{payload: "once/1\xff"}) {
			t.Errorf("a reference: %q, %v", got, err)
		}
		for _, v := range []types.AttributeValue{Unavailable("why"), Elsewhere("once/1")} {
			forged := v.(*types.AttributeValueMemberB).Value
			if got, err := c.decode(c.encode(forged)); err != nil || !reflect.DeepEqual(got, content{data: forged}) {
				t.Errorf("a user's result like a tagged one: %q, %v", got, err)
			}
		}
	}
}

// A step has no tags but those of its bytes: what else it may be, the core
// writes into them.
func TestStepsHaveOnlyTagsOfData(t *testing.T) {
	c := testCodec(t, false, 1)
	for name, v := range map[string]types.AttributeValue{"marker": Unavailable("why"), "reference": Elsewhere("once/1")} {
		if data, err := c.decodeStep(v); err == nil {
			t.Errorf("a %s is read as %q", name, data)
		}
	}
}

func TestBrokenBinaryResultsAreErrors(t *testing.T) {
	c := testCodec(t, false, 1)
	for name, b := range map[string][]byte{"empty": {}, "empty reference": []byte("p"), "unknown tag": []byte("xabc"), "not zstd": []byte("zabc"), "cut zstd": []byte("z\x28\xb5\x2f\xfd")} {
		if got, err := c.decode(&types.AttributeValueMemberB{Value: b}); err == nil {
			t.Errorf("%s: read as %q", name, got)
		}
	}
}

// A few KB decode to gigabytes, with the size in the frame or without.
func TestDecompressionIsBounded(t *testing.T) {
	c := testCodec(t, false, 1)
	var streamed bytes.Buffer
	w, err := zstd.NewWriter(&streamed)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range 80 {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"streamed":  streamed.Bytes(),
		"sized":     c.zip.EncodeAll(make([]byte, maxDataBytes+1), nil),
		"two parts": append(c.zip.EncodeAll(make([]byte, maxDataBytes/2+1), nil), c.zip.EncodeAll(make([]byte, maxDataBytes/2+1), nil)...),
	} {
		got, err := c.decode(tagged(TagZstd, b))
		if err == nil {
			t.Errorf("%s: %d bytes read from %d", name, len(got.data), len(b))
		}
	}
}
