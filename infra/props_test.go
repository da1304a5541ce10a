package infra

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

// A prop that is ignored changes nothing. One that is read in place of its neighbour changes
// nothing either, or the same. No table or queue is lost, with what is in it.
func TestEachPropChangesTheTemplateInItsOwnWay(t *testing.T) {
	invisible, tried := map[string]string{}, map[string]bool{}
	for reason, fields := range unseen {
		for field := range strings.FieldsSeq(fields) {
			invisible[field] = reason
		}
	}
	for _, deploy := range deployments {
		base := &trial{t: t, structs: map[string]reflect.Type{}}
		before := base.template(deploy)
		for name, props := range base.structs {
			changes := map[string]string{}
			for field := range props.Fields() {
				field := name + "." + field.Name
				after := (&trial{t: t, structs: base.structs, field: field}).template(deploy)
				tried[name], tried[field] = true, true
				check.Equal(t, after == before, invisible[field] != "", field, "changes nothing")
				check.Equal(t, changes[after], "", field, "changes the same as this one")
				keepsTablesAndQueues(t, field, before, after)
				if after != before {
					changes[after] = field
				}
			}
		}
	}
	for field := range invisible {
		check.Equal(t, tried[field], true, field, "exists")
	}
	files, err := filepath.Glob("*.go")
	check.Must(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		check.Must(t, err)
		for _, m := range regexp.MustCompile(`(?m)^type ([A-Z]\w+(?:Props|Options)) struct`).FindAllSubmatch(text, -1) {
			check.Equal(t, tried[string(m[1])], true, string(m[1]), "is deployed")
		}
	}
}

// A trial deploys props in an app of its own, with one field changed.
type trial struct {
	site
	t       *testing.T
	field   string                  // as in QueueProps.FIFO
	structs map[string]reflect.Type // of the props
	props   any                     // those with the field
}

func (tr *trial) template(deploy func(*trial)) string {
	tr.t.Helper()
	tr.site = newSite(tr.t)
	if refused := refusal(tr.t, func() { deploy(tr) }); refused != nil {
		tr.t.Fatalf("%s: %v", tr.field, refused)
	}
	text, err := os.ReadFile(filepath.Join(*awscdk.Stage_Of(tr.stack).Synth(&awscdk.StageSynthesisOptions{SkipValidation: jsii.Bool(true)}).Directory(), "S.template.json"))
	check.Must(tr.t, err)
	return string(text)
}

// try returns props, with the field of the trial changed if it is one of theirs.
func try[P any](tr *trial, props *P) *P {
	v := reflect.ValueOf(props).Elem()
	tr.structs[v.Type().Name()] = v.Type()
	name, field, _ := strings.Cut(tr.field, ".") // none in the base
	if name == v.Type().Name() {
		tr.props = props
		if excluded := instead[tr.field]; excluded != "" {
			v.FieldByName(excluded).SetZero()
		}
		at, others := v.FieldByName(field), tr.others()
		for _, key := range []string{tr.field, field, at.Type().String(), at.Kind().String()} {
			if other, ok := others[key]; ok {
				if of, construct := other.(func() any); construct {
					other = of()
				}
				at.Set(reflect.ValueOf(other).Convert(at.Type()))
				break
			}
		}
	}
	return props
}

// immutable are the properties that CloudFormation changes by making a new table or queue,
// which is empty.
var immutable = map[string][]string{
	"AWS::DynamoDB::GlobalTable": {"KeySchema", "LocalSecondaryIndexes", "TableName"},
	"AWS::SQS::Queue":            {"FifoQueue", "QueueName"},
}

// replacing are the fields whose purpose is another table or queue.
var replacing = map[string]string{"QueueProps.FIFO": "FunctionQueue4A448BA8 FunctionQueueDeadLetters3FC7631C"}

// keepsTablesAndQueues checks that no table or queue of one template is missing, or made anew,
// in another that differs by a field.
func keepsTablesAndQueues(t *testing.T, field, before, after string) {
	t.Helper()
	old, err := template.Parse([]byte(before))
	check.Must(t, err)
	changed, err := template.Parse([]byte(after))
	check.Must(t, err)
	var replaced []string
	for kind, properties := range immutable {
		for id, resource := range old.Resources(kind) {
			kept, ok := changed.Resources(kind)[id]
			for _, p := range properties {
				ok = ok && reflect.DeepEqual(resource.Properties()[p], kept.Properties()[p])
			}
			if !ok {
				replaced = append(replaced, id)
			}
		}
	}
	slices.Sort(replaced)
	check.Equal(t, fmt.Sprint(replaced), "["+replacing[field]+"]", field, "replaces")
}
