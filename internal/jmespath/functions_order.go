package jmespath

import "slices"

// extreme returns the function that selects the first of the largest elements, or of
// the smallest if sign is -1.
func extreme(sign int) func(call) any {
	return func(c call) any {
		list := c.args[0].([]any)
		by := c.ranks(list)
		if len(list) == 0 {
			return nil
		}
		best := 0
		for i := range list {
			if compareScalars(c.dialect, by[i], by[best]) == sign {
				best = i
			}
		}
		return list[best]
	}
}

// ranks returns the values that order a list.
func (c call) ranks(list []any) []any {
	by := list
	if c.apply != nil {
		by = c.applyAll(list)
	}
	if !ordered(by) {
		panic(c.failure())
	}
	return decimals(by)
}

// decimals decodes numbers that are compared several times: an event may contain many
// numbers, and one of nearly its own length.
func decimals(list []any) []any {
	decoded := slices.Clone(list)
	for i, e := range list {
		n, ok := e.(Number)
		if !ok { // strings, or floats among the numbers of Python
			return list
		}
		decoded[i] = n.decimal()
	}
	return decoded
}

// ordered checks that a list contains only numbers or only strings.
func ordered(list []any) bool {
	for _, e := range list {
		_, text := e.(string)
		_, first := list[0].(string)
		if text != first || !text && !isNumber(e) || notNumber(e) {
			return false
		}
	}
	return true
}

// sorted is stable. In Exact, only sort_by orders numbers.
func sorted(c call) any {
	list := c.args[0].([]any)
	by := c.ranks(list)
	if c.dialect == Exact && c.name == "sort" && len(list) > 0 && isNumber(list[0]) {
		panic(c.failure())
	}
	places := make([]int, len(list))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(i, j int) int { return compareScalars(c.dialect, by[i], by[j]) })
	result := make([]any, len(list))
	for i, place := range places {
		result[i] = list[place]
	}
	return result
}

// reverse is refused in TypeScript.
func reverse(c call) any {
	if s, ok := c.args[0].(string); ok {
		list := Runes(s)
		slices.Reverse(list)
		var text []byte
		for _, r := range list {
			text = AppendRune(text, r)
		}
		return string(text)
	}
	list := slices.Clone(c.args[0].([]any))
	slices.Reverse(list)
	return list
}

// applyAll returns the results of an expression reference.
func (c call) applyAll(list []any) []any {
	results := make([]any, len(list))
	for i, e := range list {
		results[i] = c.apply(e)
	}
	return results
}
