package recorditem

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/internal/attribute"
)

func TestTextIsStoredAsItIs(t *testing.T) {
	c := newCodec(false, 100)
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 101)
	for i := range noise {
		noise[i] = byte('!' + r.IntN(90))
	}
	for text, want := range map[string]string{
		`{"a":1}`:                  "S",
		"":                         "S",
		"gzip":                     "S",
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

func TestTagsCannotCollide(t *testing.T) {
	for _, native := range []bool{false, true} {
		c := newCodec(native, 1)
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
	c := newCodec(false, 1)
	for name, v := range map[string]types.AttributeValue{"marker": Unavailable("why"), "reference": Elsewhere("once/1")} {
		if data, err := c.decodeStep(v); err == nil {
			t.Errorf("a %s is read as %q", name, data)
		}
	}
}

func TestBrokenBinaryResultsAreErrors(t *testing.T) {
	c := newCodec(false, 1)
	for name, b := range map[string][]byte{"empty": {}, "empty reference": []byte("p"), "unknown tag": []byte("xabc"), "not gzip": []byte("gabc"), "cut gzip": append([]byte("g"), gzipped(t, []byte("abc"))[:20]...)} {
		if got, err := c.decode(&types.AttributeValueMemberB{Value: b}); err == nil {
			t.Errorf("%s: read as %q", name, got)
		}
	}
}

// A few KB decode to megabytes, whatever size they claim.
func TestDecompressionIsBounded(t *testing.T) {
	c := newCodec(false, 1)
	if c.limit != maxDataBytes {
		t.Errorf("the limit is %d bytes", c.limit)
	}
	c.limit = 10_000
	for name, test := range map[string]struct {
		bytes   []byte
		readsAs int // 0: refused
	}{
		"as many as allowed": {gzipped(t, make([]byte, c.limit)), c.limit},
		"one more":           {gzipped(t, make([]byte, c.limit+1)), 0},
		"a false claim":      {claiming(gzipped(t, make([]byte, c.limit+1)), 1), 0},
		"two parts":          {append(gzipped(t, []byte("a")), gzipped(t, []byte("b"))...), 0},
	} {
		got, err := c.decode(tagged(TagGzip, test.bytes))
		if len(got.data) != test.readsAs || (err == nil) != (test.readsAs > 0) {
			t.Errorf("%s: %d bytes read from %d, %v", name, len(got.data), len(test.bytes), err)
		}
	}
	// What could not be read again is not compressed.
	for size, want := range map[int]string{c.limit: "B", c.limit + 1: "S"} {
		if got := attribute.TypeName(c.encode(bytes.Repeat([]byte("a"), size))); got != want {
			t.Errorf("%d bytes are stored as %s, want %s", size, got, want)
		}
	}
}

// gzipped is what another writer compresses.
func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// claiming returns gzip data that claims another size.
func claiming(b []byte, size uint32) []byte {
	return binary.LittleEndian.AppendUint32(bytes.Clone(b[:len(b)-4]), size)
}

// A stored claim of a size takes no memory that the bytes could not fill.
func TestSizeHintIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		bytes []byte
		want  int
	}{
		"the size":        {gzipped(t, make([]byte, 5000)), 5000},
		"too many":        {claiming(make([]byte, 10), math.MaxUint32), 10 * 1032},
		"hardly anything": {[]byte("abc"), 0},
	} {
		if got := sizeHint(test.bytes); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

// A changed bit is an error, or changes nothing: no other result is replayed.
func TestDamagedResultsAreErrors(t *testing.T) {
	c := newCodec(false, 1)
	text := []byte(strings.Repeat("charged 100 EUR, ", 20))
	stored, ok := c.compress(TagGzip, text)
	if !ok {
		t.Fatal("not compressed")
	}
	const header = 10 // some bits of it say nothing about the data
	for i := 1 + header; i < len(stored); i++ {
		for bit := range 8 {
			b := bytes.Clone(stored)
			b[i] ^= 1 << bit
			if got, err := c.decode(&types.AttributeValueMemberB{Value: b}); err == nil && !bytes.Equal(got.data, text) {
				t.Errorf("byte %d, bit %d: read as %q", i, bit, got.data)
			}
		}
	}
}

// Buffers are used again, and no result contains bytes of another.
func TestCompressionIsSafeForConcurrentUse(t *testing.T) {
	c := newCodec(false, 1)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 50 {
				data := bytes.Repeat([]byte{byte('a' + i), byte('a' + n%26)}, 100+n*i)
				v := c.encode(data)
				if got, err := c.decode(v); attribute.TypeName(v) != "B" || err != nil || !bytes.Equal(got.data, data) {
					t.Errorf("%.10q is read as %.10q, %v", data, got.data, err)
				}
			}
		})
	}
	all.Wait()
}
