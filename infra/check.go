package infra

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// A Finding is a fact of the synthesized app with which a protected function would lose an
// event, repeat an effect or be refused by AWS.
type Finding struct {
	Fact  string // its name, for [Accept]
	Path  string // of the construct
	Value string // what the app has
	Fix   string // what to do
}

func (f Finding) String() string {
	return fmt.Sprintf("infra: %s: %s: %s; %s", f.Path, f.Fact, f.Value, f.Fix)
}

// Check returns the findings of all functions of an app that [NewIdempotentFunction] creates or
// [Protect] connects. It reads the mappings, queues, streams, tables, functions and alarms of the
// app, whoever made them, and none of an import: what an import hides is unchecked. Synthesis
// makes the same check, and fails with all findings at once.
func Check(app constructs.IConstruct) (found []Finding) {
	a := appOf(app)
	for _, f := range a.functions() {
		found = append(found, f.findings(a, facts...)...)
	}
	return found
}

// functions returns the functions of this package. One that was refused has no function.
func (a *app) functions() (all []*IdempotentFunction) {
	for _, p := range every[*protected](a) {
		if p.of != nil {
			all = append(all, p.of)
		}
	}
	return all
}

// Accept lets a construct have a fact for which synthesis would fail. The reason stands in the
// metadata of its resource in the template.
//
// Accept panics with a [*PropsError] for a fact that does not exist, without a reason, and for
// a construct that is no resource of the app.
func Accept(construct constructs.IConstruct, fact, reason string) {
	var found problems
	found.when(construct == nil, "construct: it is nil")
	found.when(!slices.ContainsFunc(facts, func(f rule) bool { return f.fact == fact }), "fact: %q is none of the check", fact)
	found.when(strings.TrimSpace(reason) == "", "reason: it is required, and stands in the template")
	found.panic(construct, "")
	resource := resourceOf(construct)
	found.when(resource == nil, "construct: it is no resource of the app")
	found.panic(construct, "")
	resource.AddMetadata(jsii.String(acceptance+fact), reason)
}

// acceptance begins the key of a reason in the metadata of a resource.
const acceptance = "once:accepts:"

// resourceOf returns the resource of a construct, or nil.
func resourceOf(construct constructs.IConstruct) awscdk.CfnResource {
	if own, is := construct.(awscdk.CfnResource); is {
		return own
	}
	own, _ := construct.Node().DefaultChild().(awscdk.CfnResource) // nil if it has none
	return own
}

// A protected is the construct of a function, by which one walk of the app finds it.
type protected struct {
	constructs.Construct
	of   *IdempotentFunction
	walk *app // of the last synthesis
}

func newProtected(scope constructs.Construct, id string) *protected {
	p := &protected{}
	constructs.NewConstruct_Override(p, scope, &id)
	return p
}

// ToString is that of every construct. Without a method, jsii would not return a *protected.
func (p *protected) ToString() *string { return p.Node().Path() }

// A validation examines one fact of one function at synthesis, because a source may be added after
// the function is protected. It is one of many, because the stack of jsii bounds each.
type validation struct {
	of   *protected
	fact int
}

// Validate returns the findings as texts. The first validation of a synthesis walks the app for
// all of them.
func (v *validation) Validate() *[]*string {
	if v.of.walk == nil || v.of.walk.validated[*v] {
		walk := appOf(v.of)
		for _, p := range every[*protected](walk) {
			p.walk = walk
		}
	}
	v.of.walk.validated[*v] = true
	var texts []*string
	for _, one := range v.of.of.findings(v.of.walk, facts[v.fact]) {
		texts = append(texts, jsii.String(one.String()))
	}
	return &texts
}

// findings returns the findings of a function that are not accepted.
func (f *IdempotentFunction) findings(a *app, among ...rule) []Finding {
	x := &examined{app: a, f: f, mappings: a.mappings(f)}
	for _, r := range among {
		x.fact = r.fact
		r.examine(x)
	}
	return x.found
}

// An examined is a function during a check.
type examined struct {
	*app
	f        *IdempotentFunction
	mappings []*mapping
	fact     string
	found    []Finding
}

// when adds a finding if it is wrong, and not accepted.
func (x *examined) when(wrong bool, at constructs.IConstruct, fix, value string, args ...any) {
	if !wrong {
		return
	}
	if resource := resourceOf(at); resource != nil && resource.GetMetadata(jsii.String(acceptance+x.fact)) != nil {
		return
	}
	x.found = append(x.found, Finding{Fact: x.fact, Path: *at.Node().Path(), Value: fmt.Sprintf(value, args...), Fix: fix})
}

// function returns the construct of the function, or what stands for an import.
func (x *examined) function() constructs.IConstruct { return unqualified(x.f.Function) }

// A rule examines one fact.
type rule struct {
	fact    string
	examine func(*examined)
}

// facts are those that Check examines. It is filled here and not where they are, so that one
// reads all of them at once.
var facts = []rule{
	{"reports", (*examined).reports},
	{"one-consumer", (*examined).oneConsumer},
	{"visibility", (*examined).visibility},
	{"dead-letters", (*examined).redrive},
	{"dead-letter-retention", (*examined).deadLetterRetention},
	{"queue-retention", (*examined).queueRetention},
	{"queue-concurrency", (*examined).concurrency},
	{"stream-bisect", (*examined).bisect},
	{"stream-failures", (*examined).streamFailures},
	{"stream-age", (*examined).streamAge},
	{"stream-retention", (*examined).streamRetention},
	{"async-failures", (*examined).asyncFailures},
	{"async-retention", (*examined).asyncRetention},
	{"timeout", (*examined).timeout},
	{"table-keys", (*examined).tableKeys},
	{"table-ttl", (*examined).tableTTL},
	{"variables", (*examined).variables},
	{"disabled", (*examined).disabled},
	{"log-filter", (*examined).logFilter},
	{"function-alarms", (*examined).functionAlarms},
	{"source-alarms", (*examined).sourceAlarms},
}
