package jmespath

import "slices"

// extreme returns the function that selects the first of the largest elements, or of
// the smallest if sign is -1.
func extreme(sign int) func(call) (any, error) {
	return func(c call) (any, error) {
		list := c.args[0].([]any)
		by, err := c.ranks(list)
		if err != nil || len(list) == 0 {
			return nil, err
		}
		best := 0
		for i := range list {
			if compareScalars(c.dialect, by[i], by[best]) == sign {
				best = i
			}
		}
		return list[best], nil
	}
}

// ranks returns the values that order a list.
func (c call) ranks(list []any) ([]any, error) {
	by := list
	if c.apply != nil {
		var err error
		if by, err = c.applyAll(list); err != nil {
			return nil, err
		}
	}
	if !ordered(by) {
		return nil, c.fail()
	}
	return decimals(by), nil
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
func sorted(c call) (any, error) {
	list := c.args[0].([]any)
	by, err := c.ranks(list)
	if err != nil {
		return nil, err
	}
	if c.dialect == Exact && c.name == "sort" && len(list) > 0 && isNumber(list[0]) {
		return nil, c.fail()
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
	return result, nil
}

// reverse is refused in TypeScript.
func reverse(c call) (any, error) {
	if s, ok := c.args[0].(string); ok {
		list := Runes(s)
		slices.Reverse(list)
		var text []byte
		for _, r := range list {
			text = AppendRune(text, r)
		}
		return string(text), nil
	}
	list := slices.Clone(c.args[0].([]any))
	slices.Reverse(list)
	return list, nil
}

// applyAll returns the results of an expression reference.
func (c call) applyAll(list []any) ([]any, error) {
	results := make([]any, len(list))
	for i, e := range list {
		var err error
		if results[i], err = c.apply(e); err != nil {
			return nil, err
		}
	}
	return results, nil
}
