package powertools_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

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
