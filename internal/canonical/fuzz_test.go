package canonical

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

var fuzzSeeds = []string{
	`{"b":1,"a":[1.0,10e-1,-0,{"d":"\u0041","c":null}]}`, `{"a":[1,1,0,{"c":null,"d":"A"}],"b":1}`,
	`9007199254740993`, `9007199254740992`, `1e999999999`, `0.1e1000000000000000001`, `1e-1000000000000000001`,
	`{"\ue000":1,"\ud800\udc00":2,"\\":3,"\"":4,"\u0001":5}`, `{"a":1,"\u0061":1}`, `"\ud800"`, "\"\xff\"",
	`"\ufffd\/\b"`, `[[],{},"",0.000001,0.0000001,123456789012345678901,1234567890123456789012]`, ` true `, ``, `[1,]`, `01`,
	`{"b":{"b":{"b":1,"a":2},"a":{"b":1,"a":2}},"a":{"z":[{"y":1,"x":2},{"y":1,"x":2}]}}`,
}

// Two texts have one canonical form exactly when they mean the same.
func FuzzCanonicalEquality(f *testing.F) {
	for i, a := range fuzzSeeds {
		f.Add([]byte(a), []byte(fuzzSeeds[(i+1)%len(fuzzSeeds)]), uint64(i))
	}
	f.Fuzz(func(t *testing.T, a, b []byte, seed uint64) {
		va, pa := judge(t, a)
		judgePair(t, a, b)
		if !pa {
			return
		}
		r := rand.New(rand.NewPCG(seed, 1))
		other := []byte(respell(r, va))
		if vo, ok := judge(t, other); !ok || !reflect.DeepEqual(va, vo) {
			t.Fatalf("%q was respelled as %q", a, other)
		}
		judgePair(t, a, other)
		const bytes = " 0123456789abcdef\"\\[]{},.:-+E"
		other[r.IntN(len(other))] = bytes[r.IntN(len(bytes))]
		judgePair(t, a, other)
	})
}

// judge checks that the oracle and Append accept the same texts.
func judge(t *testing.T, raw []byte) (any, bool) {
	t.Helper()
	v, refused := oracle(raw)
	_, err := Append(nil, raw)
	if (refused == nil) != (err == nil) {
		t.Fatalf("%q: %v, but the oracle says %v", raw, err, refused)
	}
	return v, err == nil
}

func judgePair(t *testing.T, a, b []byte) {
	t.Helper()
	va, oka := judge(t, a)
	vb, okb := judge(t, b)
	if !oka || !okb {
		return
	}
	fa, err := Append(nil, a)
	check.Must(t, err)
	fb, err := Append(nil, b)
	check.Must(t, err)
	if equal := reflect.DeepEqual(va, vb); equal != bytes.Equal(fa, fb) {
		t.Fatalf("%q and %q: one text: %v, one value: %v", a, b, bytes.Equal(fa, fb), equal)
	}
}

// The canonical form is JSON that means the same, and its own canonical form.
func FuzzCanonicalIdempotent(f *testing.F) {
	for _, a := range fuzzSeeds {
		f.Add([]byte(a))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		once, err := Append(nil, raw)
		if err != nil {
			return
		}
		twice, err := Append(nil, once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q, then %q, %v", once, twice, err)
		}
		before, err := oracle(raw)
		check.Must(t, err)
		after, err := oracle(once)
		if err != nil || !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q, %v", raw, once, err)
		}
	})
}
