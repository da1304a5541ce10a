package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

// Every property of CloudFormation's own resources is in their schemas, which
// the CDK brings along.
func TestSchema(t *testing.T) {
	for name, deployed := range templates(t) {
		t.Run(name, func(t *testing.T) {
			for _, violation := range validate(t, deployed) {
				t.Error(violation)
			}
		})
	}
}

// A property that no schema has is found in every resource that has one.
func TestSchemaFindsUnknownProperties(t *testing.T) {
	for name, deployed := range templates(t) {
		t.Run(name, func(t *testing.T) {
			kinds := map[string]string{} // one resource of each type
			for _, id := range deployed.IDs() {
				kinds[fmt.Sprint(deployed.Resources()[id]["Type"])] = id
			}
			broken := deployed.Clone()
			for _, id := range kinds {
				broken.Resources()[id].Properties()["Misspelt"] = "x"
			}
			report := validate(t, broken)
			for kind, id := range kinds {
				if serverless(kind) {
					continue // TestSAMProperties
				}
				if !slices.ContainsFunc(report, func(v string) bool { return strings.HasPrefix(v, id+": ") && strings.Contains(v, "Misspelt") }) {
					t.Errorf("%s: the property of %s is not in the report %q", kind, id, report)
				}
			}
		})
	}
}

func serverless(kind string) bool { return strings.HasPrefix(kind, "AWS::Serverless::") }

// validate returns the violations that the CDK finds in a template.
func validate(t *testing.T, deployed template.Template) (violations []string) {
	t.Helper()
	out := t.TempDir()
	app := awscdk.NewApp(&awscdk.AppProps{
		AnalyticsReporting: jsii.Bool(false),
		Context:            &map[string]any{"@aws-cdk/core:validateAgainstDefaultRules": true},
		Outdir:             &out,
	})
	stack := awscdk.NewStack(app, jsii.String("S"), nil)
	if transform, ok := deployed["Transform"].(string); ok {
		stack.AddTransform(&transform)
	}
	functions := functions(deployed)
	for id, r := range deployed.Resources() {
		properties := r.Properties()
		if f, ok := functions[id]; ok {
			properties = f.Properties // with those of Globals
		}
		awscdk.NewCfnResource(stack, jsii.String("R"+id), &awscdk.CfnResourceProps{
			Properties: &properties, Type: jsii.String(fmt.Sprint(r["Type"])),
		}).OverrideLogicalId(&id)
	}
	defer func() {
		if refused := recover(); refused != nil {
			if violations = reported(t, filepath.Join(out, "validation-report.json")); len(violations) == 0 {
				t.Fatal(refused)
			}
		}
	}()
	app.Synth(nil)
	return nil
}

func reported(t *testing.T, file string) []string {
	t.Helper()
	var report struct {
		PluginReports []struct {
			Violations []struct {
				RuleName, Description string
				ViolatingConstructs   []struct {
					CloudFormationResource struct{ LogicalID string }
				}
			}
		}
	}
	check.Must(t, json.Unmarshal([]byte(read(t, file)), &report))
	var violations []string
	for _, plugin := range report.PluginReports {
		for _, v := range plugin.Violations {
			for _, c := range v.ViolatingConstructs {
				violations = append(violations, fmt.Sprintf("%s: %s (%s)", c.CloudFormationResource.LogicalID, v.Description, v.RuleName))
			}
		}
	}
	return violations
}

// SAM's own types are in no schema that the CDK has. These are the properties
// that the templates may use, each checked against the schema that SAM
// publishes (schema_source/sam.schema.json of aws/serverless-application-model,
// May 2026).
func samProperties() map[string][]string {
	function := []string{"Architectures", "Environment", "Handler", "LoggingConfig", "MemorySize", "Runtime", "Timeout"}
	return map[string][]string{
		"Globals":                   {"Function"},
		"Globals.Function":          function,
		"AWS::Serverless::Function": append(function, "CodeUri", "Events", "Policies"),
		"AWS::Serverless::HttpApi":  {"AccessLogSettings", "DefaultRouteSettings"},
		"Metadata":                  {"BuildMethod"},
		"HttpApi":                   {"ApiId", "Method", "Path", "PayloadFormatVersion"},
		"template":                  {"AWSTemplateFormatVersion", "Description", "Globals", "Outputs", "Resources", "Transform"},
	}
}

func TestSAMProperties(t *testing.T) {
	for name, deployed := range map[string]template.Template{"SAM": sam(t), "page": page(t)} {
		t.Run(name, func(t *testing.T) {
			for _, problem := range unknown(deployed) {
				t.Error(problem)
			}
			for _, where := range []string{"Globals", "AWS::Serverless::Function", "HttpApi"} {
				broken := deployed.Clone()
				if !misspell(broken, where) {
					if name == "SAM" { // the README's has fewer kinds
						t.Errorf("the template has no %s", where)
					}
					continue
				}
				if found := unknown(broken); len(found) != 1 || !strings.HasSuffix(found[0], ": Misspelt") {
					t.Errorf("with a property that %s does not have: %q", where, found)
				}
			}
		})
	}
}

func unknown(deployed template.Template) []string {
	var found []string
	check := func(where, kind string, v any) {
		m, _ := v.(map[string]any)
		allowed, known := samProperties()[kind]
		if !known {
			found = append(found, where+": the type "+kind)
		}
		for _, property := range slices.Sorted(maps.Keys(m)) {
			if !slices.Contains(allowed, property) {
				found = append(found, where+": "+property)
			}
		}
	}
	check("template", "template", map[string]any(deployed))
	globals, _ := deployed["Globals"].(map[string]any)
	check("Globals", "Globals", globals)
	check("Globals.Function", "Globals.Function", globals["Function"])
	for id, r := range deployed.Resources() {
		kind := fmt.Sprint(r["Type"])
		if !serverless(kind) {
			continue
		}
		check(id, kind, r.Properties())
		check(id+".Metadata", "Metadata", r["Metadata"])
		events, _ := r.Properties()["Events"].(map[string]any)
		for name, event := range events {
			e, _ := event.(map[string]any)
			check(id+"."+name, fmt.Sprint(e["Type"]), e["Properties"])
		}
	}
	return found
}

// misspell adds a property to the first place of a kind, and reports whether there
// is one.
func misspell(deployed template.Template, kind string) bool {
	if globals, ok := deployed[kind].(map[string]any); ok {
		globals["Misspelt"] = "x"
		return true
	}
	for _, r := range deployed.Resources() {
		if r["Type"] == kind {
			r.Properties()["Misspelt"] = "x"
			return true
		}
		events, _ := r.Properties()["Events"].(map[string]any)
		for _, event := range events {
			if e := event.(map[string]any); e["Type"] == kind {
				e["Properties"].(map[string]any)["Misspelt"] = "x"
				return true
			}
		}
	}
	return false
}
