package jmespath

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// A kind of token, and of the node that it makes. Names are those of the
// grammar of JMESPath.
type kind string

type token struct {
	kind  kind
	text  string // of an identifier
	value any    // of a literal
	n     int    // of a number
	at    int    // bytes from the start of the expression
}

// powers says how tightly a token binds the expression to its left.
var powers = map[kind]int{
	"|": 1, "||": 2, "&&": 3, "==": 5, "!=": 5,
	"[]": 9, "*": 20, "[?": 21, ".": 40, "!": 45, "{": 50, "[": 55, "(": 60,
}

// stopsProjection is the power below which a token ends a projection.
const stopsProjection = 10

// symbols are the tokens without content, longer ones first. The parser refuses those of
// operators that keys do not need.
var symbols = []kind{
	"[?", "[]", "||", "&&", "==", "!=", "<=", ">=",
	".", "*", "]", ",", ":", "@", "(", ")", "{", "}", "[", "|", "&", "<", ">", "!", "$",
}

// A lexer splits an expression into tokens.
type lexer struct {
	dialect Dialect
	text    string
	pos     int
}

func tokenize(d Dialect, text string) (tokens []token) {
	l := lexer{dialect: d, text: text}
	for len(tokens) == 0 || tokens[len(tokens)-1].kind != "end" {
		l.pos += len(l.text[l.pos:]) - len(strings.TrimLeft(l.text[l.pos:], " \t\n\r"))
		tokens = append(tokens, l.next())
	}
	return tokens
}

// The tokens whose content is no text in quotes.
var (
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)
	integer    = regexp.MustCompile(`^(-[0-9]*|[0-9]+)`)
)

func (l *lexer) next() token {
	t := token{at: l.pos}
	rest := l.text[l.pos:]
	if rest == "" {
		t.kind = "end"
		return t
	}
	for _, s := range symbols {
		if strings.HasPrefix(rest, string(s)) {
			l.pos += len(s)
			t.kind = s
			return t
		}
	}
	if t.text = identifier.FindString(rest); t.text != "" {
		l.pos += len(t.text)
		t.kind = "identifier"
		return t
	}
	if digits := integer.FindString(rest); digits != "" {
		n, err := strconv.Atoi(digits)
		if err != nil {
			panic(syntaxError(l.text, t.at))
		}
		l.pos += len(digits)
		t.kind, t.n = "number", n
		return t
	}
	return l.quoted(t)
}

// quoted reads a quoted identifier, a raw string or a literal in JSON.
func (l *lexer) quoted(t token) token {
	quote := l.text[l.pos]
	if strings.IndexByte("\"'`", quote) < 0 {
		panic(syntaxError(l.text, t.at))
	}
	start := l.pos + 1
	end := start
	for end < len(l.text) && l.text[end] != quote {
		if l.text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(l.text) {
		fail(fmt.Errorf("%w: unclosed %c", syntaxError(l.text, end), quote))
	}
	text := l.text[start:end]
	l.pos = end + 1
	var err error
	switch quote {
	case '"':
		t.kind = "quoted"
		t.value, err = Decode(l.dialect, `"`+text+`"`)
		t.text, _ = t.value.(string)
	case '\'':
		t.kind, t.value = "literal", l.unescape(text, "'")
	case '`':
		t.kind, text = "literal", l.unescape(text, "`")
		t.value, err = Decode(l.dialect, text)
		if err != nil && l.dialect == Python { // which still takes the form without quotes
			t.value, err = Decode(l.dialect, `"`+strings.TrimLeftFunc(text, unicode.IsSpace)+`"`)
		}
	}
	if err != nil {
		panic(syntaxError(l.text, t.at))
	}
	return t
}

// unescape replaces the escaped quotes of a literal.
func (l *lexer) unescape(text, quote string) string {
	switch {
	case l.dialect == TypeScript:
		return strings.Replace(text, `\`+quote, quote, 1) // the first one alone
	case l.dialect == Exact && quote == "'":
		return strings.NewReplacer(`\'`, `'`, `\\`, `\`).Replace(text)
	}
	return strings.ReplaceAll(text, `\`+quote, quote)
}

func syntaxError(text string, at int) failure {
	if at >= len(text) {
		return failure{fmt.Errorf("syntax error at byte %d, where the expression ends", at)}
	}
	return failure{fmt.Errorf("syntax error at byte %d, at %q", at, text[at:])}
}
