package jmespath

import (
	"fmt"
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
	"|": 1, "||": 2, "&&": 3, "==": 5, "!=": 5, "<": 5, "<=": 5, ">": 5, ">=": 5,
	"[]": 9, "*": 20, "[?": 21, ".": 40, "!": 45, "{": 50, "[": 55, "(": 60,
}

// stopsProjection is the power below which a token ends a projection.
const stopsProjection = 10

// symbols are the tokens without content, longer ones first.
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

func tokenize(d Dialect, text string) ([]token, error) {
	l := lexer{dialect: d, text: text}
	var tokens []token
	for {
		l.pos += len(l.text[l.pos:]) - len(strings.TrimLeft(l.text[l.pos:], " \t\n\r"))
		t, err := l.next()
		if err != nil {
			return nil, err
		}
		if tokens = append(tokens, t); t.kind == "end" {
			return tokens, nil
		}
	}
}

func (l *lexer) next() (token, error) {
	t := token{at: l.pos}
	rest := l.text[l.pos:]
	if rest == "" {
		t.kind = "end"
		return t, nil
	}
	for _, s := range symbols {
		if strings.HasPrefix(rest, string(s)) && (s != "$" || l.dialect == Exact && !isVariable(rest)) {
			l.pos += len(s)
			t.kind = s
			return t, nil
		}
	}
	switch b := rest[0]; {
	case isLetter(b):
		n := strings.IndexFunc(rest, func(r rune) bool { return r >= 0x80 || !isLetter(byte(r)) && !isDigit(byte(r)) })
		if n < 0 {
			n = len(rest)
		}
		l.pos += n
		t.kind, t.text = "identifier", rest[:n]
		return t, nil
	case isDigit(b) || b == '-':
		n := 1
		for n < len(rest) && isDigit(rest[n]) {
			n++
		}
		l.pos += n
		var err error
		t.kind = "number"
		if t.n, err = strconv.Atoi(rest[:n]); err != nil {
			return t, syntaxError(l.text, t.at)
		}
		return t, nil
	case b == '"' || b == '\'' || b == '`':
		return l.quoted(t, b)
	}
	return t, syntaxError(l.text, t.at)
}

// quoted reads a quoted identifier, a raw string or a literal in JSON.
func (l *lexer) quoted(t token, quote byte) (token, error) {
	start := l.pos + 1
	end := start
	for end < len(l.text) && l.text[end] != quote {
		if l.text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(l.text) {
		return t, fmt.Errorf("%w: unclosed %c", syntaxError(l.text, end), quote)
	}
	text := l.text[start:end]
	l.pos = end + 1
	if quote == '"' {
		v, err := Decode(l.dialect, `"`+text+`"`)
		if err != nil {
			return t, syntaxError(l.text, t.at)
		}
		t.kind, t.text = "quoted", v.(string)
		return t, nil
	}
	t.kind, t.value = "literal", l.unescape(text, string(quote))
	if quote == '\'' {
		return t, nil
	}
	text = t.value.(string)
	v, err := Decode(l.dialect, text)
	if err != nil && l.dialect == Python { // which still takes the form without quotes
		v, err = Decode(l.dialect, `"`+strings.TrimLeftFunc(text, unicode.IsSpace)+`"`)
	}
	if err != nil {
		return t, syntaxError(l.text, t.at)
	}
	t.value = v
	return t, nil
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

// isVariable reports whether text begins with a variable. They are not supported.
func isVariable(text string) bool {
	return len(text) > 1 && (isLetter(text[1]) || isDigit(text[1]))
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' || b == '_' }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func syntaxError(text string, at int) error {
	if at >= len(text) {
		return fmt.Errorf("syntax error at byte %d, where the expression ends", at)
	}
	return fmt.Errorf("syntax error at byte %d, at %q", at, text[at:])
}
