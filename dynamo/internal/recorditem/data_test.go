package recorditem

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/internal/check"
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
		check.Equal(t, attribute.TypeName(c.Result([]byte(text))), want, text)
	}
}

func TestTagsCannotCollide(t *testing.T) {
	for _, native := range []bool{false, true} {
		c := newCodec(native, 1)
		got, err := c.decode(Unavailable("why\xff"))
		check.Nil(t, err)
		check.Deep(t, got, content{unavailable: "why\xff"})
		got, err = c.decode(Unavailable(""))
		check.Nil(t, err, "a marker without reason")
		check.Differ(t, got.unavailable, "")
		got, err = c.decode(Elsewhere("once/1\xff"))
		check.Nil(t, err)
		check.Deep(t, got, content{payload: "once/1\xff"})
		for _, v := range []types.AttributeValue{Unavailable("why"), Elsewhere("once/1")} {
			forged := v.(*types.AttributeValueMemberB).Value
			got, err := c.decode(c.Result(forged))
			check.Nil(t, err, "a user's result like a tagged one")
			check.Deep(t, got, content{data: forged})
		}
	}
}

// A step has no tags but those of its bytes: what else it may be, the core
// writes into them.
func TestStepsHaveOnlyTagsOfData(t *testing.T) {
	c := newCodec(false, 1)
	for name, v := range map[string]types.AttributeValue{"marker": Unavailable("why"), "reference": Elsewhere("once/1")} {
		_, err := c.decodeStep(v)
		check.Failed(t, err, name)
	}
}

func TestBrokenBinaryResultsAreErrors(t *testing.T) {
	c := newCodec(false, 1)
	for name, b := range map[string][]byte{"empty": {}, "empty reference": []byte("p"), "unknown tag": []byte("xabc"), "not gzip": []byte("gabc"), "cut gzip": append([]byte("g"), gzipped(t, []byte("abc"))[:20]...)} {
		_, err := c.decode(&types.AttributeValueMemberB{Value: b})
		check.Failed(t, err, name)
	}
}

// A few KB decode to megabytes, whatever size they claim.
func TestDecompressionIsBounded(t *testing.T) {
	c := newCodec(false, 1)
	check.Equal(t, c.limit, maxDataBytes)
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
		check.Equal(t, len(got.data), test.readsAs, name)
		check.Equal(t, err == nil, test.readsAs > 0, name)
	}
	// What could not be read again is not compressed.
	for size, want := range map[int]string{c.limit: "B", c.limit + 1: "S"} {
		check.Equal(t, attribute.TypeName(c.Result(bytes.Repeat([]byte("a"), size))), want, size)
	}
}

// gzipped is what another writer compresses.
func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	check.Must(t, err)
	_, err = w.Write(data)
	check.Must(t, err)
	check.Must(t, w.Close())
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
		check.Equal(t, sizeHint(test.bytes), test.want, name)
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
				v := c.Result(data)
				got, err := c.decode(v)
				check.Equal(t, attribute.TypeName(v), "B")
				check.Nil(t, err)
				check.Equal(t, string(got.data), string(data))
			}
		})
	}
	all.Wait()
}

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
