package powertools

// A function of JMESPath. Its arguments are evaluated before the call, except
// for an expression reference: apply evaluates that.
type function struct {
	args      int // at least
	variadic  bool
	reference int // the argument that is an expression reference, from 1
	call      func(d Dialect, args []any, apply func(any) (any, error)) (any, error)
}

// functions are what an expression may call.
var functions = map[string]function{
	"abs":         {args: 1, call: absolute},
	"avg":         {args: 1, call: average},
	"ceil":        {args: 1, call: ceiling},
	"contains":    {args: 2, call: contains},
	"ends_with":   {args: 2, call: endsWith},
	"floor":       {args: 1, call: floor},
	"join":        {args: 2, call: join},
	"keys":        {args: 1, call: keys},
	"length":      {args: 1, call: length},
	"map":         {args: 2, reference: 1, call: mapped},
	"max":         {args: 1, call: maximum},
	"max_by":      {args: 2, reference: 2, call: maximumBy},
	"merge":       {args: 1, variadic: true, call: merge},
	"min":         {args: 1, call: minimum},
	"min_by":      {args: 2, reference: 2, call: minimumBy},
	"not_null":    {args: 1, variadic: true, call: notNull},
	"reverse":     {args: 1, call: reverse},
	"sort":        {args: 1, call: sorted},
	"sort_by":     {args: 2, reference: 2, call: sortedBy},
	"starts_with": {args: 2, call: startsWith},
	"sum":         {args: 1, call: sum},
	"to_array":    {args: 1, call: toArray},
	"to_number":   {args: 1, call: toNumber},
	"to_string":   {args: 1, call: toString},
	"type":        {args: 1, call: typeOf},
	"values":      {args: 1, call: values},

	"powertools_json":        {args: 1, call: decodeJSON},
	"powertools_base64":      {args: 1, call: decodeBase64},
	"powertools_base64_gzip": {args: 1, call: decodeBase64Gzip},
}

// ownFunction reports whether a function is one that Powertools adds.
func ownFunction(name string) bool {
	return name == "powertools_json" || name == "powertools_base64" || name == "powertools_base64_gzip"
}

func (n *node) call(d Dialect, v any) (any, error) {
	f := functions[n.text]
	args := make([]any, len(n.children))
	var apply func(any) (any, error)
	for i, child := range n.children {
		if f.reference == i+1 {
			apply = func(e any) (any, error) { return child.children[0].evaluate(d, e) }
			continue
		}
		var err error
		if args[i], err = child.evaluate(d, v); err != nil {
			return nil, err
		}
	}
	return f.call(d, args, apply)
}

// errArguments reports arguments that the language refuses too, or with which
// it does what nobody asks for.
func errArguments(name string) error {
	return inapplicable("the arguments of " + name + " have the wrong type or value")
}
