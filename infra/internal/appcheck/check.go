// Package appcheck reads the constructs of an app, whoever made them, and finds what would lose an
// event of a protected function, repeat an effect or be refused by AWS.
package appcheck

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// A Finding is that of package infra.
type Finding struct{ Fact, Path, Value, Fix string }

func (f Finding) String() string {
	return fmt.Sprintf("infra: %s: %s: %s; %s", f.Path, f.Fact, f.Value, f.Fix)
}

// Check returns the findings of all functions of an app.
func Check(app constructs.IConstruct) (found []Finding) {
	a := AppOf(app)
	for _, f := range a.functions() {
		found = append(found, a.findings(f, facts...)...)
	}
	return found
}

// functions returns the protected functions. One that was refused has no function.
func (a *App) functions() (all []*Function) {
	for _, p := range Every[*Protected](a) {
		if p.of != nil {
			all = append(all, p.of)
		}
	}
	return all
}

// Facts returns the names of those that the check examines.
func Facts() (names []string) {
	for _, r := range facts {
		names = append(names, r.fact)
	}
	return names
}

// acceptance begins the key of a reason in the metadata of a resource.
const acceptance = "once:accepts:"

// Accept adds the reason to the resource of a construct, and reports whether it has one.
func Accept(construct constructs.IConstruct, fact, reason string) bool {
	resource := resourceOf(construct)
	if resource != nil {
		resource.AddMetadata(jsii.String(acceptance+fact), reason)
	}
	return resource != nil
}

// resourceOf returns the resource of a construct, or nil.
func resourceOf(construct constructs.IConstruct) awscdk.CfnResource {
	if own, is := construct.(awscdk.CfnResource); is {
		return own
	}
	own, _ := construct.Node().DefaultChild().(awscdk.CfnResource) // nil if it has none
	return own
}

// A Protected is the construct of a function, by which one walk of the app finds it.
type Protected struct {
	constructs.Construct
	of   *Function
	walk *App // of the last synthesis
}

// NewProtected creates the construct of a function.
func NewProtected(scope constructs.Construct, id string) *Protected {
	p := &Protected{}
	constructs.NewConstruct_Override(p, scope, &id)
	return p
}

// ToString is that of every construct. Without a method, jsii would not return a *Protected.
func (p *Protected) ToString() *string { return p.Node().Path() }

// Add adds the function, and the validations of its facts.
func (p *Protected) Add(of *Function) {
	p.of = of
	for fact := range facts {
		p.Node().AddValidation(&validation{p, fact})
	}
}

// A validation examines one fact of one function at synthesis, because a source may be added after
// the function is protected. It is one of many, because the stack of jsii bounds each.
type validation struct {
	of   *Protected
	fact int
}

// Validate returns the findings as texts. The first validation of a synthesis walks the app for
// all of them.
func (v *validation) Validate() *[]*string {
	if v.of.walk == nil || v.of.walk.validated[*v] {
		walk := AppOf(v.of)
		for _, p := range Every[*Protected](walk) {
			p.walk = walk
		}
	}
	v.of.walk.validated[*v] = true
	var texts []*string
	for _, one := range v.of.walk.findings(v.of.of, facts[v.fact]) {
		texts = append(texts, jsii.String(one.String()))
	}
	return &texts
}

// findings returns the findings of a function that are not accepted.
func (a *App) findings(f *Function, among ...rule) []Finding {
	x := &examined{App: a, f: f, mappings: a.Mappings(f)}
	for _, r := range among {
		x.fact = r.fact
		r.examine(x)
	}
	return x.found
}

// An examined is a function during a check.
type examined struct {
	*App
	f        *Function
	mappings []*Mapping
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
