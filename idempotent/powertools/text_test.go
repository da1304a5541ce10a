package powertools_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/powertools"
	"github.com/lambda-once/once/internal/check"
)

func TestDialectsHaveNames(t *testing.T) {
	for _, name := range []string{"typescript", "python"} {
		d, err := powertools.ParseDialect(name)
		check.Nil(t, err, name)
		check.Equal(t, d.String(), name)
	}
	if d, err := powertools.ParseDialect("Python"); err == nil || !strings.Contains(err.Error(), "use typescript or python") {
		t.Errorf("%v, %v", d, err)
	}
	check.Equal(t, powertools.Dialect(9).String(), "Dialect(9)")
}

func TestLowercaseIsThatOfNode(t *testing.T) {
	var words []string
	for c := range rune(0x20000) { // no letter above has a case
		if c == ' ' || unicode.In(c, unicode.Cs, unicode.Co, unicode.Cn, unicode.Han, unicode.Hangul) {
			continue
		}
		// What stands beside a sigma: is it a letter, is it ignored?
		for _, format := range []string{"%c", "Σ%cΣ", "aΣ%c", "aΣ%ca"} {
			if word := fmt.Sprintf(format, c); !powertools.Varies(word) {
				words = append(words, word)
			}
		}
	}
	want := strings.Split(ask(t, typescript(t), []request{{Lowercase: strings.Join(words, " ")}})[0].Lowercase, " ")
	if len(words) != len(want) {
		t.Fatalf("%d words, want %d", len(words), len(want))
	}
	for i, word := range words {
		check.Equal(t, powertools.ToLowerCase(word), want[i], word, []rune(word))
	}
}

// The canonical text is one for an event with other white space or escapes, is
// canonical itself, and has the value of the event.
func FuzzCanonicalText(f *testing.F) {
	for _, event := range []string{
		`{"b":1,"a":{"Z":1,"y":2,"a":null}}`, `{"10":1,"9":2,"a":3,"01":4}`, `"a/b\u007f\t"`, `[1e400, -0, 1.0, 123456789012345678901234567890]`,
		`{"A":1,"a":2,"A":3}`, `"\ud83d\ude00\ud83d"`, `{"__proto__":{"a":1},"é":"😀"}`, `{"İ":1,"ΑΣ":2,"\ud800":3}`, `[[], {}, "", null]`, `1e-7`,
	} {
		f.Add(event)
	}
	f.Fuzz(func(t *testing.T, event string) {
		if !utf8.ValidString(event) {
			return // refused before
		}
		for _, d := range []powertools.Dialect{powertools.TypeScript, powertools.Python} {
			text, err := powertools.CanonicalText(d, event)
			if err != nil {
				if !errors.Is(err, idempotent.ErrInvalidPayload) {
					t.Fatalf("%v: %v", d, err)
				}
				continue
			}
			if d == powertools.Python && !json.Valid(text) && json.Valid([]byte(event)) && !bytes.Contains(text, []byte("Infinity")) || !utf8.Valid(text) {
				t.Fatalf("%v: %q becomes %q", d, event, text)
			}
			again, err := powertools.CanonicalText(d, string(text))
			if err != nil || !bytes.Equal(again, text) {
				t.Fatalf("%v: %q, and again %q, %v", d, text, again, err)
			}
			if !json.Valid([]byte(event)) { // NaN
				continue
			}
			var b bytes.Buffer
			check.Must(t, json.Indent(&b, []byte(event), "\t", "\r\n"))
			if spaced, err := powertools.CanonicalText(d, b.String()); err != nil || !bytes.Equal(spaced, text) {
				t.Fatalf("%v: %q, with white space %q, %v", d, text, spaced, err)
			}
			if d == powertools.Python {
				continue
			}
			var before, after any
			if json.Unmarshal([]byte(event), &before) == nil && json.Unmarshal(text, &after) == nil && !bytes.Contains([]byte(event), []byte("__proto__")) &&
				!bytes.Contains([]byte(event), []byte(`\u`)) && !reflect.DeepEqual(before, after) {
				t.Fatalf("%v: %s becomes %s", d, event, text)
			}
		}
	})
}
