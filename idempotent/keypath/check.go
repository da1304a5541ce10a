package keypath

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/jmespath-community/go-jmespath/pkg/functions"
	"github.com/jmespath-community/go-jmespath/pkg/parsing"
)

// maxCount bounds the integers in an expression: the library adds to them
// without a check for overflow.
const maxCount = 1 << 20

// checkExpression refuses what would fail, or find an unstable or inexact ID,
// only when requests come. It changes one thing: the library projects over an
// object in the random order of a Go map.
func checkExpression(n *parsing.ASTNode) error {
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
			return errors.New("<, <=, > and >= are refused: numbers are exact decimals, which the JMESPath library cannot order")
		}
	case parsing.ASTArithmeticExpression, parsing.ASTArithmeticUnaryExpression:
		return errors.New("arithmetic is refused: numbers are exact decimals, with which the JMESPath library cannot compute")
	case parsing.ASTLiteral:
		if containsNumber(n.Value) {
			return errors.New("a number literal is refused: it is a float64, and would never equal a number of the request, which is an exact decimal")
		}
	case parsing.ASTSlice:
		if step := n.Value.([]*int)[2]; step != nil && (*step == 0 || *step > maxCount || *step < -maxCount) {
			return errors.New("the step of a slice is 0 or out of range")
		}
	case parsing.ASTFunctionExpression:
		return checkCall(n)
	case parsing.ASTExpRef:
		return errors.New("an expression reference (&) is refused where the function takes none")
	default:
		return errors.New("variables and assignments are not supported")
	}
	return checkAll(n.Children)
}

func checkAll(nodes []parsing.ASTNode) error {
	for i := range nodes {
		if err := checkExpression(&nodes[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkCall(n *parsing.ASTNode) error {
	name := n.Value.(string)
	if name == projectValues {
		return checkAll(n.Children)
	}
	if why, ok := refusedFunctions[name]; ok {
		return fmt.Errorf("the function %s is refused: it %s, and numbers are exact decimals, with which the JMESPath library cannot compute", name, why)
	}
	f, ok := pathFunctions[name]
	if !ok {
		return fmt.Errorf("unknown function %s", name)
	}
	required, variadic := 0, false
	for _, a := range f.Arguments {
		if !a.Optional {
			required++
		}
		variadic = variadic || a.Variadic
	}
	if n := len(n.Children); n < required || n > len(f.Arguments) && !variadic {
		return fmt.Errorf("the function %s does not take %d arguments", name, n)
	}
	for i := range n.Children {
		types := f.Arguments[min(i, len(f.Arguments)-1)].Types
		if err := checkArgument(&n.Children[i], types); err != nil {
			return fmt.Errorf("argument %d of %s: %w", i+1, name, err)
		}
	}
	return nil
}

func checkArgument(arg *parsing.ASTNode, types []functions.JpType) error {
	switch {
	case slices.Contains(types, functions.JpNumber):
		count, ok := arg.Value.(float64)
		if arg.NodeType != parsing.ASTLiteral || !ok || count != math.Trunc(count) || count < 0 || count > maxCount {
			return fmt.Errorf("must be a literal integer from 0 to %d", maxCount)
		}
		return nil
	case slices.Contains(types, functions.JpExpref):
		if arg.NodeType != parsing.ASTExpRef {
			return errors.New("must be an expression reference (&)")
		}
		return checkAll(arg.Children)
	default:
		return checkExpression(arg)
	}
}

func containsNumber(v any) bool {
	switch v := v.(type) {
	case float64, json.Number:
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
