package powertools

import "slices"

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

func maximum(d Dialect, args []any, _ applied) (any, error) {
	return extreme(d, "max", args[0], 1, nil)
}

func minimum(d Dialect, args []any, _ applied) (any, error) {
	return extreme(d, "min", args[0], -1, nil)
}

func maximumBy(d Dialect, args []any, apply applied) (any, error) {
	return extreme(d, "max_by", args[0], 1, apply)
}

func minimumBy(d Dialect, args []any, apply applied) (any, error) {
	return extreme(d, "min_by", args[0], -1, apply)
}

// extreme returns the first element whose order to all others is sign or 0.
func extreme(d Dialect, name string, arg any, sign int, apply applied) (any, error) {
	list, ok := arg.([]any)
	if !ok {
		return nil, errArguments(name)
	}
	by, err := ranks(name, list, apply)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	best := 0
	for i := range list {
		if compareScalars(d, by[i], by[best]) == sign {
			best = i
		}
	}
	return list[best], nil
}

// ranks returns what a list is ordered by.
func ranks(name string, list []any, apply applied) ([]any, error) {
	by := list
	if apply != nil {
		by = make([]any, len(list))
		for i, e := range list {
			var err error
			if by[i], err = apply(e); err != nil {
				return nil, err
			}
		}
	}
	if !ordered(by) {
		return nil, errArguments(name)
	}
	return by, nil
}

func sorted(d Dialect, args []any, _ applied) (any, error) { return sortList(d, "sort", args[0], nil) }

func sortedBy(d Dialect, args []any, apply applied) (any, error) {
	return sortList(d, "sort_by", args[0], apply)
}

func sortList(d Dialect, name string, arg any, apply applied) (any, error) {
	list, ok := arg.([]any)
	if !ok {
		return nil, errArguments(name)
	}
	by, err := ranks(name, list, apply)
	if err != nil {
		return nil, err
	}
	places := make([]int, len(list))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(i, j int) int { return compareScalars(d, by[i], by[j]) })
	result := make([]any, len(list))
	for i, place := range places {
		result[i] = list[place]
	}
	return result, nil
}

// reverse is refused in TypeScript.
func reverse(_ Dialect, args []any, _ applied) (any, error) {
	switch v := args[0].(type) {
	case string:
		list := runes(v)
		slices.Reverse(list)
		var text []byte
		for _, r := range list {
			text = appendRune(text, r)
		}
		return string(text), nil
	case []any:
		list := slices.Clone(v)
		slices.Reverse(list)
		return list, nil
	}
	return nil, errArguments("reverse")
}
