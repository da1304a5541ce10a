package idempotent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// replayOf returns what the replay of a result returns.
func replayOf[T any](t *testing.T, first T) T {
	t.Helper()
	x := newExecutor(t, memory.New(0), nil)
	fn := func(context.Context) (T, error) { return first, nil }
	_, err := idempotent.Do(t.Context(), x, theKey, fn)
	check.Must(t, err)
	again, err := idempotent.Do(t.Context(), x, theKey, never[T](t))
	check.Must(t, err)
	return again
}

// As JSON, a result and its replay are the same to the last digit.
func TestReplayHasTheNumbersOfTheFirstAnswer(t *testing.T) {
	const large = int64(9007199254740993)
	for name, first := range map[string]any{
		"an int64":        large,
		"a uint64":        uint64(math.MaxUint64),
		"2 to the 63":     uint64(1 << 63),
		"a json.Number":   json.Number("0.12345678901234567890123"),
		"in a map":        map[string]any{"id": large, "n": 1.5, "list": []any{large, 2, "9007199254740993", nil, true}},
		"in a list":       []any{[]any{large}, []any{0.1}},
		"of big exponent": json.Number("1e400"),
		"a big.Int":       new(big.Int).Lsh(big.NewInt(1), 200),
	} {
		wrote, err := json.Marshal(first)
		check.Must(t, err)
		again, err := json.Marshal(replayOf(t, first))
		check.Nil(t, err, name)
		check.True(t, bytes.Equal(again, wrote), name)
	}
}

// A number within an interface is a float64, unless that would change its
// value.
func TestNumberWithinAnyIsAFloat64IfThatIsExact(t *testing.T) {
	for text, want := range map[string]any{
		`0`:                       0.,
		`-1`:                      -1.,
		`0.1`:                     0.1,
		`1.0`:                     1.,
		`1e3`:                     1000.,
		`1e+21`:                   1e21,
		`5e-324`:                  5e-324,
		`9007199254740992`:        9007199254740992.,
		`100000000000000000000`:   1e20,
		`1.7976931348623157e+308`: math.MaxFloat64,
		`9007199254740993`:        json.Number("9007199254740993"),
		`-9007199254740993.0`:     json.Number("-9007199254740993.0"),
		`0.1000000000000000055`:   json.Number("0.1000000000000000055"),
		`1e400`:                   json.Number("1e400"),
		`1e-400`:                  json.Number("1e-400"),
		`1e2000000000000000000`:   json.Number("1e2000000000000000000"),
	} {
		var got any
		err := (idempotent.JSON{}).Decode([]byte(text), &got)
		check.Nil(t, err, text)
		check.Equal(t, got, want, text)
		// Beside one that no float64 holds, too.
		var list []any
		err = (idempotent.JSON{}).Decode([]byte(`["\\\"1", 9007199254740993, `+text+`]`), &list)
		check.Nil(t, err, text)
		check.Equal(t, list[2], want, text)
	}
}

type numbers struct {
	Any     any
	Float   float64
	Int     int64
	Number  json.Number
	Map     map[string]any
	Structs map[string]struct{ Any any }
	Pointer *struct{ Any any }
	Array   [2]any
	Raw     json.RawMessage
	Own     ownNumbers
	Bytes   []byte
	embedded
	hidden any
}

type embedded struct{ Promoted any }

// ownNumbers keeps its numbers as they were written.
type ownNumbers struct{ Any any }

func (o *ownNumbers) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(&o.Any)
}

// Only a number within an interface has no type of its own.
func TestTypedNumbersAreDecodedAsInPackageJSON(t *testing.T) {
	const text = `{"Any":9007199254740993,"Float":9007199254740993,"Int":9007199254740993,"Number":1.0,
		"Map":{"large":9007199254740993,"small":1},"Structs":{"a":{"Any":2}},"Pointer":{"Any":3},"Array":[4,9007199254740993],
		"Raw":[9007199254740993],"Own":5,"Bytes":"AQI=","Promoted":6}`
	large := json.Number("9007199254740993")
	want := numbers{
		Any: large, Float: 9007199254740992, Int: 9007199254740993, Number: "1.0",
		Map: map[string]any{"large": large, "small": 1.}, Structs: map[string]struct{ Any any }{"a": {2.}},
		Pointer: &struct{ Any any }{3.}, Array: [2]any{4., large}, Raw: json.RawMessage(`[9007199254740993]`),
		Own: ownNumbers{json.Number("5")}, Bytes: []byte{1, 2}, embedded: embedded{6.}, hidden: json.Number("7"),
	}
	got := numbers{hidden: json.Number("7")} // not of the text
	err := (idempotent.JSON{}).Decode([]byte(text), &got)
	check.Nil(t, err)
	check.Deep(t, got, want)
}

func TestResultWithTrailingDataIsRefused(t *testing.T) {
	for _, text := range []string{`1 2`, `9007199254740993 2`, `9007199254740993 x`, `[9007199254740993`, ``, `9007199254740993-`, `"\`} {
		var got any
		check.Failed(t, (idempotent.JSON{}).Decode([]byte(text), &got), text)
	}
}

// A later attempt receives the step's result as the first attempt saw it.
func TestReplayedStepHasTheNumbersOfTheFirst(t *testing.T) {
	store := memory.New(0)
	var got any
	for try := range 2 {
		_, _, _ = do(t.Context(), newExecutor(t, store, nil), func(ctx context.Context) (string, error) {
			var err error
			got, err = idempotent.Step(ctx, "charge", func(context.Context) (any, error) {
				check.True(t, try <= 0, try, "it ran again")
				return int64(9007199254740993), nil
			})
			check.Nil(t, err)
			return "", errCrash
		})
	}
	if got != json.Number("9007199254740993") {
		t.Errorf("got %T %v", got, got)
	}
}

// ring decodes from text, into what has no end.
type ring struct{ Next *ring }

func (r *ring) UnmarshalText([]byte) error { r.Next = r; return nil }

// A type that decodes itself from text is not searched for numbers: this one
// has no end.
func TestNumbersAreNotLookedForInTextTypes(t *testing.T) {
	var result struct {
		Ring ring
		N    any
	}
	check.Must(t, (idempotent.JSON{}).Decode([]byte(`{"Ring":"x","N":9007199254740993}`), &result))
	if result.N != json.Number("9007199254740993") || result.Ring.Next != &result.Ring {
		t.Errorf("%v", result.N)
	}
}

// plainBytes is a codec for []byte results, as anyone would write it.
type plainBytes struct{}

func (plainBytes) Encode(result any) ([]byte, error) { return result.([]byte), nil }

func (plainBytes) Decode(data []byte, result any) error {
	*result.(*[]byte) = data
	return nil
}

// A caller that changes its result changes no replay, though the codec copies
// nothing.
func TestStoredResultIsACopy(t *testing.T) {
	for name, config := range map[string]*idempotent.Config{
		"cache":  {Codec: plainBytes{}, CacheEntries: 10},
		"memory": {Codec: plainBytes{}},
	} {
		x := newExecutor(t, memory.New(0), config)
		call := func() []byte {
			got, err := idempotent.Do(t.Context(), x, theKey, func(context.Context) ([]byte, error) { return []byte("paid 100"), nil })
			check.Must(t, err)
			return got
		}
		copy(call(), "MINE") // the first caller's own bytes
		check.Equal(t, string(call()), "paid 100", name)
		copy(call(), "HERS")
		check.Equal(t, string(call()), "paid 100", name)
	}
}
