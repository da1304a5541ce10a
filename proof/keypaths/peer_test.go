package keypaths

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jmespath-community/go-jmespath/pkg/functions"
	"github.com/jmespath-community/go-jmespath/pkg/interpreter"
	"github.com/jmespath-community/go-jmespath/pkg/parsing"

	"github.com/lambda-once/once/idempotent/keypath"
)

var (
	errMissing = errors.New("missing")
	errInvalid = errors.New("invalid")
	errRefused = errors.New("refused")
)

// A peer is an expression as the first engine evaluated it.
type peer struct{ root parsing.ASTNode }

func compilePeer(expr string) (peer, error) {
	if !utf8.ValidString(expr) || strings.ContainsRune(expr, '\u0080') { // the parser panics on it
		return peer{}, errRefused
	}
	root, err := parsing.NewParser().Parse(expr)
	if err != nil || !checkExpression(&root) {
		return peer{}, errRefused
	}
	return peer{root}, nil
}

func (p peer) id(request json.RawMessage) (string, error) {
	data, err := decodeCanonical(request)
	if err != nil {
		return "", err
	}
	caller := peerCaller{}
	result, err := interpreter.NewInterpreter(data, &caller, nil).Execute(p.root, data)
	switch {
	case caller.err != nil:
		return "", caller.err
	case err != nil:
		return "", errInvalid
	case vacuous(result):
		return "", errMissing
	}
	if s, ok := result.(string); ok && s[0] != '[' && s[0] != '{' && s[0] != '"' {
		return s, nil
	}
	return canonicalText(result)
}

// The canonical form has tests of its own, in the product: it is not what is
// compared here.
var inList = keypath.Path[json.RawMessage]("['x', @]")

func canonicalJSON(text []byte) ([]byte, error) {
	key, err := inList(text)
	if err != nil {
		return nil, errInvalid
	}
	return []byte(key.ID[len(`["x",`) : len(key.ID)-1]), nil
}

func decodeCanonical(text []byte) (v any, err error) {
	if text, err = canonicalJSON(text); err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	return v, d.Decode(&v)
}

func canonicalText(v any) (string, error) {
	text, err := json.Marshal(v)
	if err == nil {
		text, err = canonicalJSON(text)
	}
	return string(text), err
}

func vacuous(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !vacuous(e) })
	case map[string]any:
		for _, e := range v {
			if !vacuous(e) {
				return false
			}
		}
		return true
	}
	return false
}

const maxCount = 1 << 20

// checkExpression reports whether the first engine accepted an expression. It
// changes one thing: the library projects over an object in the random order of a
// Go map.
func checkExpression(n *parsing.ASTNode) bool {
	switch n.NodeType {
	case parsing.ASTField, parsing.ASTIdentity, parsing.ASTCurrentNode, parsing.ASTRootNode,
		parsing.ASTIndex, parsing.ASTIndexExpression, parsing.ASTSubexpression, parsing.ASTPipe,
		parsing.ASTProjection, parsing.ASTFilterProjection, parsing.ASTFlatten,
		parsing.ASTMultiSelectList, parsing.ASTMultiSelectHash, parsing.ASTKeyValPair,
		parsing.ASTOrExpression, parsing.ASTAndExpression, parsing.ASTNotExpression:
	case parsing.ASTValueProjection:
		object := n.Children[0]
		n.NodeType = parsing.ASTProjection
		n.Children[0] = parsing.ASTNode{
			NodeType: parsing.ASTFunctionExpression, Value: projectValues, Children: []parsing.ASTNode{object},
		}
	case parsing.ASTComparator:
		if n.Value != parsing.TOKEQ && n.Value != parsing.TOKNE {
			return false
		}
	case parsing.ASTLiteral:
		return !containsNumber(n.Value)
	case parsing.ASTSlice:
		step := n.Value.([]*int)[2]
		return step == nil || *step != 0 && *step <= maxCount && *step >= -maxCount
	case parsing.ASTFunctionExpression:
		return checkCall(n)
	default:
		return false
	}
	return checkAll(n.Children)
}

func checkAll(nodes []parsing.ASTNode) bool {
	for i := range nodes {
		if !checkExpression(&nodes[i]) {
			return false
		}
	}
	return true
}

func checkCall(n *parsing.ASTNode) bool {
	if n.Value == projectValues {
		return checkAll(n.Children)
	}
	f, ok := peerFunctions[n.Value.(string)]
	if !ok {
		return false
	}
	required, variadic := 0, false
	for _, a := range f.Arguments {
		if !a.Optional {
			required++
		}
		variadic = variadic || a.Variadic
	}
	if n := len(n.Children); n < required || n > len(f.Arguments) && !variadic {
		return false
	}
	for i := range n.Children {
		if !checkArgument(&n.Children[i], f.Arguments[min(i, len(f.Arguments)-1)].Types) {
			return false
		}
	}
	return true
}

func checkArgument(arg *parsing.ASTNode, types []functions.JpType) bool {
	switch {
	case slices.Contains(types, functions.JpNumber):
		count, ok := arg.Value.(float64)
		return arg.NodeType == parsing.ASTLiteral && ok && count == math.Trunc(count) && count >= 0 && count <= maxCount
	case slices.Contains(types, functions.JpExpref):
		return arg.NodeType == parsing.ASTExpRef && checkAll(arg.Children)
	}
	return checkExpression(arg)
}

func containsNumber(v any) bool {
	switch v := v.(type) {
	case float64:
		return true
	case []any:
		return slices.ContainsFunc(v, containsNumber)
	case map[string]any:
		for _, e := range v {
			if containsNumber(e) {
				return true
			}
		}
	}
	return false
}
