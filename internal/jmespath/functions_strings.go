package jmespath

import (
	"strconv"
	"strings"
	"unicode"
)

// compareText refuses half a surrogate pair, which TypeScript would find in the
// middle of a code point.
func compareText(holds func(s, part string) bool) func(call) (any, error) {
	return func(c call) (any, error) {
		part := c.args[1].(string)
		if c.dialect == TypeScript && HasSurrogate(part) {
			return nil, c.fail()
		}
		return holds(c.args[0].(string), part), nil
	}
}

func join(c call) (any, error) {
	list := c.args[1].([]any)
	parts := make([]string, len(list))
	for i, e := range list {
		var ok bool
		if parts[i], ok = e.(string); !ok {
			return nil, c.fail()
		}
	}
	text := strings.Join(parts, c.args[0].(string))
	if c.dialect == TypeScript {
		text = joinSurrogates(text)
	}
	return text, nil
}

func convert(text func(string) string) func(call) (any, error) {
	return func(c call) (any, error) { return text(c.args[0].(string)), nil }
}

func padLeft(c call) (any, error) {
	padding, err := c.padding()
	return padding + c.args[0].(string), err
}

func padRight(c call) (any, error) {
	padding, err := c.padding()
	return c.args[0].(string) + padding, err
}

// padding counts bytes, as it always did: a different count would change keys.
func (c call) padding() (string, error) {
	pad := " "
	if len(c.args) > 2 {
		if pad = c.args[2].(string); len(pad) > 1 {
			return "", c.fail()
		}
	}
	return strings.Repeat(pad, max(0, c.integer(1, 0)-len(c.args[0].(string)))), nil
}

func replace(c call) (any, error) {
	return strings.Replace(c.args[0].(string), c.args[1].(string), c.args[2].(string), c.integer(3, -1)), nil
}

func split(c call) (any, error) {
	text := c.args[0].(string)
	list := []any{}
	if text == "" {
		return list, nil
	}
	for _, part := range strings.SplitN(text, c.args[1].(string), c.integer(2, -2)+1) {
		list = append(list, part)
	}
	return list, nil
}

// trim returns the function that trims the code points of a string, by default white
// space.
func trim(cut func(string, func(rune) bool) string) func(call) (any, error) {
	return func(c call) (any, error) {
		trimmed := unicode.IsSpace
		if len(c.args) > 1 && c.args[1] != "" {
			set := map[rune]bool{} // both arguments may be as long as the event
			for _, r := range c.args[1].(string) {
				set[r] = true
			}
			trimmed = func(r rune) bool { return set[r] }
		}
		return cut(c.args[0].(string), trimmed), nil
	}
}

// find returns the function that finds a string between two positions, and returns
// its own in code points, or null.
func find(index func(s, part string) int) func(call) (any, error) {
	return func(c call) (any, error) {
		for _, arg := range c.args[2:] {
			if _, err := strconv.Atoi(string(arg.(Number))); err != nil {
				return nil, c.fail()
			}
		}
		text, part := []rune(c.args[0].(string)), c.args[1].(string)
		from, to := clamp(c.integer(2, 0), 0, 0, len(text)), clamp(c.integer(3, len(text)), 0, 0, len(text))
		if part == "" || from > to {
			return nil, nil
		}
		within := string(text[from:to])
		at := index(within, part)
		if at < 0 {
			return nil, nil
		}
		return Number(strconv.Itoa(from + len([]rune(within[:at])))), nil
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
