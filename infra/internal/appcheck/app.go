package appcheck

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
)

// An App has the results of one walk over the constructs of an app, whoever made them. It
// remembers resolved values: each call of CDK is a round trip to its process, and within a validation
// some 4,000 of them exhaust the stack of jsii.
type App struct {
	all       []constructs.IConstruct
	called    map[constructs.IConstruct]string // identities of functions, by the resource that calls them
	own       map[*Function]string             // identities of the protected ones
	homes     map[constructs.IConstruct]awscdk.Stack
	named     map[string][]naming // by the stack that names them
	read      map[awslambda.CfnEventSourceMapping]*Mapping
	validated map[validation]bool
}

// A naming is a function or a queue, as a stack names it.
type naming struct {
	names    []string // in JSON
	identity string   // of a function
	queue    awssqs.CfnQueue
}

// AppOf walks over the app of a construct.
func AppOf(of constructs.IConstruct) *App {
	return &App{
		all:    *of.Node().Root().Node().FindAll(constructs.ConstructOrder_PREORDER),
		called: map[constructs.IConstruct]string{}, own: map[*Function]string{}, homes: map[constructs.IConstruct]awscdk.Stack{}, named: map[string][]naming{}, read: map[awslambda.CfnEventSourceMapping]*Mapping{}, validated: map[validation]bool{},
	}
}

// Every returns the constructs of a type.
func Every[C any](a *App) (found []C) {
	for _, c := range a.all {
		if one, ok := c.(C); ok {
			found = append(found, one)
		}
	}
	return found
}

// plain returns a property of a resource as its template has it, or nil for one that is not set.
func plain(of constructs.IConstruct, value any) any {
	if v := reflect.ValueOf(value); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return awscdk.Stack_Of(of).Resolve(value)
}

// In returns a value at a path of a property of a resource, or nil.
func In(of constructs.IConstruct, property any, path ...string) any {
	value := plain(of, property)
	for _, key := range path {
		object, _ := value.(map[string]any) // of any other value, nil: it has no keys
		value = object[key]
	}
	return value
}

// referred returns the resource to which a text refers, also one of another stack, or nil.
func referred(text *string) constructs.IConstruct {
	if text == nil {
		return nil
	}
	for _, token := range *awscdk.Tokenization_ReverseString(text).Tokens() {
		if reference, is := token.(awscdk.Reference); is {
			return reference.Target()
		}
	}
	return nil
}

func unresolved(value any) bool { return *awscdk.Token_IsUnresolved(value) }

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value) // compared with values of the same kind alone
	}
	return string(text)
}

// Invokes reports whether a property of a resource names the function, its alias or its version.
func (a *App) Invokes(f *Function, of constructs.IConstruct, property any) bool {
	if _, known := a.own[f]; !known { // of this walk: an import is named differently once the app is prepared
		a.own[f] = identity(f.Function)
	}
	if _, known := a.called[of]; !known {
		a.called[of] = a.call(of, property)
	}
	return a.called[of] == a.own[f]
}

// call returns the identity of the function that a property of a resource names, or "".
func (a *App) call(of constructs.IConstruct, property any) string {
	text, _ := property.(*string)
	for at := referred(text); at != nil; {
		switch qualified := at.(type) {
		case awslambda.CfnFunction:
			return *qualified.Node().Path()
		case awslambda.CfnAlias:
			at = referred(qualified.FunctionName())
		case awslambda.CfnVersion:
			at = referred(qualified.FunctionName())
		default:
			at = nil
		}
	}
	return find(a.functionsBy(of, text == nil), asJSON(plain(of, property))).identity
}

// find returns the one whose name a value in JSON is or contains. Logical ids repeat in stacks, so
// that those of the resource's own stack come first.
func find(by func(own bool) []naming, value string) naming {
	for _, own := range []bool{true, false} {
		for _, one := range by(own) {
			if slices.ContainsFunc(one.names, func(name string) bool { return names(value, name) }) {
				return one
			}
		}
	}
	return naming{}
}

// names reports whether a value in JSON is a name, or contains it: a reference, or the URI of an
// integration.
func names(value, name string) bool {
	reference := !strings.HasPrefix(name, `"`)
	return value == name || reference && strings.Contains(value, name) || strings.Contains(value, "/"+strings.Trim(name, `"`)+"/invocations")
}

// functionsBy returns the functions of a stack or of the others, as the stack of a resource names
// them. Those that the app creates are behind a reference; only an object hides it.
func (a *App) functionsBy(of constructs.IConstruct, object bool) func(own bool) []naming {
	functions := slices.DeleteFunc(Every[awslambda.IFunction](a), func(f awslambda.IFunction) bool {
		_, made := f.(awslambda.Function)
		_, version := f.(awslambda.Version)
		return !object && made || version
	})
	return namedBy(a, of, fmt.Sprint("functions ", object), functions, func(f awslambda.IFunction, stack awscdk.Stack) naming {
		return naming{identity: identity(f), names: []string{asJSON(stack.Resolve(f.FunctionName())), asJSON(stack.Resolve(f.FunctionArn()))}}
	})
}

// queuesBy returns the queues of a stack or of the others, as the stack of a resource names them.
func (a *App) queuesBy(of constructs.IConstruct) func(own bool) []naming {
	return namedBy(a, of, "queues", Every[awssqs.CfnQueue](a), func(q awssqs.CfnQueue, stack awscdk.Stack) naming {
		return naming{names: []string{asJSON(stack.Resolve(q.AttrArn()))}, queue: q}
	})
}

// namedBy remembers what a stack names, apart for its own constructs, which are nearly always those
// that are meant.
func namedBy[C constructs.IConstruct](a *App, of constructs.IConstruct, kind string, all []C, name func(C, awscdk.Stack) naming) func(own bool) []naming {
	stack := awscdk.Stack_Of(of)
	path := *stack.Node().Path()
	return func(own bool) []naming {
		key := fmt.Sprint(path, " ", kind, " ", own)
		if a.named[key] == nil {
			a.named[key] = []naming{}
			for _, c := range all {
				if a.homes[c] == nil {
					a.homes[c] = awscdk.Stack_Of(c)
				}
				if (a.homes[c] == stack) == own {
					a.named[key] = append(a.named[key], name(c, stack))
				}
			}
		}
		return a.named[key]
	}
}

// identity tells functions apart: by the path of one that the app creates, and by the ARN of an
// import. Aliases and versions have that of their function.
func identity(function awslambda.IFunction) string {
	own := Unqualified(function)
	if made, is := own.Node().DefaultChild().(awslambda.CfnFunction); is {
		return *made.Node().Path()
	}
	return asJSON(plain(own, own.FunctionArn()))
}

// A Queue is a queue of SQS that a property names.
type Queue struct {
	made awssqs.CfnQueue // nil for an import
	Name *string
	Path string // or the name of an import
}

// queue returns the queue whose ARN a property of a resource is, or nil.
func (a *App) queue(of constructs.IConstruct, arn any) *Queue {
	text, _ := arn.(*string)
	if made, is := referred(text).(awssqs.CfnQueue); is {
		return newQueue(made)
	}
	value := plain(of, arn)
	if literal, is := value.(string); is && strings.Contains(literal, ":sqs:") {
		name := literal[strings.LastIndex(literal, ":")+1:]
		return &Queue{nil, &name, name}
	}
	if found := find(a.queuesBy(of), asJSON(value)); value != nil && found.queue != nil {
		return newQueue(found.queue)
	}
	return nil
}

func newQueue(made awssqs.CfnQueue) *Queue {
	return &Queue{made, made.AttrQueueName(), *made.Node().Path()}
}

// DeadLetters returns the dead-letter queue, or nil if there is none or an import hides it.
func (a *App) DeadLetters(q *Queue) *Queue {
	if q.made == nil {
		return nil
	}
	return a.queue(q.made, In(q.made, q.made.RedrivePolicy(), "deadLetterTargetArn"))
}
