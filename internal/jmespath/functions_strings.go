package jmespath

import (
	"strconv"
	"strings"
	"unicode"
)

// compareText refuses half a surrogate pair, which TypeScript would find in the
// middle of a code point.
func compareText(holds func(s, part string) bool) func(call) any {
	return func(c call) any {
		part := c.args[1].(string)
		if c.dialect == TypeScript && HasSurrogate(part) {
			panic(c.failure())
		}
		return holds(c.args[0].(string), part)
	}
}

func join(c call) any {
	list := c.args[1].([]any)
	parts := make([]string, len(list))
	for i, e := range list {
		var ok bool
		if parts[i], ok = e.(string); !ok {
			panic(c.failure())
		}
	}
	text := strings.Join(parts, c.args[0].(string))
	if c.dialect == TypeScript {
		text = joinSurrogates(text)
	}
	return text
}

func convert(text func(string) string) func(call) any {
	return func(c call) any { return text(c.args[0].(string)) }
}

func padLeft(c call) any {
	return c.padding() + c.args[0].(string)
}

func padRight(c call) any {
	return c.args[0].(string) + c.padding()
}

// padding counts bytes, as it always did: a different count would change keys.
func (c call) padding() string {
	pad := " "
	if len(c.args) > 2 {
		if pad = c.args[2].(string); len(pad) > 1 {
			panic(c.failure())
		}
	}
	return strings.Repeat(pad, max(0, c.integer(1, 0)-len(c.args[0].(string))))
}

func replace(c call) any {
	return strings.Replace(c.args[0].(string), c.args[1].(string), c.args[2].(string), c.integer(3, -1))
}

func split(c call) any {
	text := c.args[0].(string)
	list := []any{}
	if text == "" {
		return list
	}
	for _, part := range strings.SplitN(text, c.args[1].(string), c.integer(2, -2)+1) {
		list = append(list, part)
	}
	return list
}

// trim returns the function that trims the code points of a string, by default white
// space.
func trim(cut func(string, func(rune) bool) string) func(call) any {
	return func(c call) any {
		trimmed := unicode.IsSpace
		if len(c.args) > 1 && c.args[1] != "" {
			set := map[rune]bool{} // both arguments may be as long as the event
			for _, r := range c.args[1].(string) {
				set[r] = true
			}
			trimmed = func(r rune) bool { return set[r] }
		}
		return cut(c.args[0].(string), trimmed)
	}
}

// find returns the function that finds a string between two positions, and returns
// its own in code points, or null.
func find(index func(s, part string) int) func(call) any {
	return func(c call) any {
		for _, arg := range c.args[2:] {
			if _, err := strconv.Atoi(string(arg.(Number))); err != nil {
				panic(c.failure())
			}
		}
		text, part := []rune(c.args[0].(string)), c.args[1].(string)
		from, to := clamp(c.integer(2, 0), 0, 0, len(text)), clamp(c.integer(3, len(text)), 0, 0, len(text))
		if part == "" || from > to {
			return nil
		}
		within := string(text[from:to])
		at := index(within, part)
		if at < 0 {
			return nil
		}
		return Number(strconv.Itoa(from + len([]rune(within[:at]))))
	}
}

// integer returns an argument that is a literal count or a position.
func (c call) integer(i, absent int) int {
	if i >= len(c.args) {
		return absent
	}
	n, _ := strconv.Atoi(string(c.args[i].(Number)))
	return n
}
