package infra

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
)

// An app is what one walk over the constructs of an app finds, whoever made them.
type app []constructs.IConstruct

func appOf(of constructs.IConstruct) app {
	return *of.Node().Root().Node().FindAll(constructs.ConstructOrder_PREORDER)
}

// every returns the constructs of a type.
func every[C any](a app) (found []C) {
	for _, c := range a {
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

// in returns a value at a path of a property of a resource, or nil.
func in(of constructs.IConstruct, property any, path ...string) any {
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

// names reports whether a property of a resource has one of the names of a construct.
func names(of constructs.IConstruct, property any, wanted ...*string) bool {
	text := asJSON(plain(of, property))
	for _, name := range wanted {
		name := asJSON(plain(of, name))
		within := strings.Contains(text, "/"+strings.Trim(name, `"`)+"/invocations") // in the URI of an integration
		if text == name || within || !strings.HasPrefix(name, `"`) && strings.Contains(text, name) {
			return true
		}
	}
	return false
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value) // compared with values of the same kind alone
	}
	return string(text)
}

// invokes reports whether a property of a resource names the function, its alias or its version.
func (a app) invokes(f *IdempotentFunction, of constructs.IConstruct, property any) bool {
	text, _ := property.(*string)
	for at := referred(text); at != nil; {
		switch qualified := at.(type) {
		case awslambda.CfnFunction:
			return *qualified.Node().Path() == identity(f.Function)
		case awslambda.CfnAlias:
			at = referred(qualified.FunctionName())
		case awslambda.CfnVersion:
			at = referred(qualified.FunctionName())
		default:
			at = nil
		}
	}
	// Logical ids repeat in stacks, so that those of the resource's own stack come first.
	for _, own := range []bool{true, false} {
		for _, other := range every[awslambda.IFunction](a) {
			if own == (*other.Stack().Node().Path() == *awscdk.Stack_Of(of).Node().Path()) && names(of, property, other.FunctionName(), other.FunctionArn()) {
				return identity(other) == identity(f.Function)
			}
		}
	}
	return false
}

// identity tells functions apart: by the path of one that the app creates, and by the ARN of an
// import. Aliases and versions have that of their function.
func identity(function awslambda.IFunction) string {
	own := unqualified(function)
	if made, is := own.Node().DefaultChild().(awslambda.CfnFunction); is {
		return *made.Node().Path()
	}
	return asJSON(plain(own, own.FunctionArn()))
}

// A queueOf is a queue of SQS that a property names.
type queueOf struct {
	made awssqs.CfnQueue // nil for an import
	name *string
}

// queue returns the queue whose ARN a property of a resource is, or nil.
func (a app) queue(of constructs.IConstruct, arn any) *queueOf {
	text, _ := arn.(*string)
	if made, is := referred(text).(awssqs.CfnQueue); is {
		return &queueOf{made, made.AttrQueueName()}
	}
	value := plain(of, arn)
	if literal, is := value.(string); is && strings.Contains(literal, ":sqs:") {
		name := literal[strings.LastIndex(literal, ":")+1:]
		return &queueOf{nil, &name}
	}
	for _, own := range []bool{true, false} {
		for _, made := range every[awssqs.CfnQueue](a) {
			if own == (*made.Stack().Node().Path() == *awscdk.Stack_Of(of).Node().Path()) && value != nil && asJSON(plain(of, made.AttrArn())) == asJSON(value) {
				return &queueOf{made, made.AttrQueueName()}
			}
		}
	}
	return nil
}

// path identifies a queue.
func (q *queueOf) path() string {
	if q.made == nil {
		return *q.name
	}
	return *q.made.Node().Path()
}

// deadLetters returns the dead-letter queue, or nil if there is none or an import hides it.
func (a app) deadLetters(q *queueOf) *queueOf {
	if q.made == nil {
		return nil
	}
	return a.queue(q.made, in(q.made, q.made.RedrivePolicy(), "deadLetterTargetArn"))
}
