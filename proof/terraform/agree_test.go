package terraform

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// cdk is the template of the CDK app, without hashes. A test of infra/cmd/examples compares it with
// template.yaml.
const cdk = "../../infra/cmd/examples/testdata/template.json"

type values = map[string]any

// A deployment has the resources of Terraform, by their ids in CDK.
type deployment struct {
	resources map[string]resource
	policies  map[string][]any // statements by the names of roles
	outputs   values
}

type resource struct {
	kind   string
	values values
}

type planned struct {
	Resources []struct {
		Address, Mode, Type string
		Values              values
	}
	Modules []planned `json:"child_modules"`
}

var punctuation = regexp.MustCompile(`[^A-Za-z0-9]`)

// read reads the plan of a deployed configuration, in which every value is known.
func readDeployment(t *testing.T, text string) *deployment {
	t.Helper()
	var plan struct {
		PlannedValues struct {
			Outputs map[string]struct{ Value any }
			Root    planned `json:"root_module"`
		} `json:"planned_values"`
	}
	check.Must(t, json.Unmarshal([]byte(text), &plan))
	d := &deployment{map[string]resource{}, map[string][]any{}, values{}}
	for name, output := range plan.PlannedValues.Outputs {
		d.outputs[punctuation.ReplaceAllString(name, "")] = output.Value
	}
	d.read(t, plan.PlannedValues.Root)
	return d
}

func (d *deployment) read(t *testing.T, module planned) {
	t.Helper()
	for _, r := range module.Resources {
		id := ids[r.Address]
		switch {
		case r.Mode == "data" || r.Type == "terraform_data":
			continue
		case r.Type == "aws_iam_role_policy":
			role := fmt.Sprint(r.Values["role"])
			d.policies[role] = append(d.policies[role], decoded(r.Values["policy"]).(values)["Statement"].([]any)...)
			continue
		case r.Type == "aws_cloudwatch_metric_alarm":
			name := strings.TrimPrefix(r.Values["alarm_name"].(string), "once-examples-")
			id = "Alarms" + punctuation.ReplaceAllString(name, "")
		}
		if id == "" {
			t.Errorf("%s has no id in CDK", r.Address)
		}
		d.resources[id] = resource{r.Type, r.Values}
	}
	for _, inner := range module.Modules {
		d.read(t, inner)
	}
}

// A template is that of CDK, with the values of a deployment in place of references.
type template struct {
	Resources map[string]struct {
		Type           string
		DeletionPolicy string
		Properties     values
	}
	Outputs map[string]struct{ Value any }
}

func readCDK(t *testing.T) *template {
	t.Helper()
	var whole template
	check.Must(t, json.Unmarshal([]byte(read(t, cdk)), &whole))
	foreign := func(id string) bool {
		return slices.ContainsFunc(onlyInCDK, func(start string) bool { return strings.HasPrefix(strings.TrimPrefix(id, "Alarms"), start) })
	}
	for id := range whole.Resources {
		if foreign(id) {
			delete(whole.Resources, id)
		}
	}
	for name := range whole.Outputs {
		if foreign(name) {
			delete(whole.Outputs, name)
		}
	}
	return &whole
}

// differences compares all that Terraform deploys with CDK.
func (d *deployment) differences(t *testing.T, with *template) (all []string) {
	t.Helper()
	compare := func(about string, got, want any) {
		if got, want = normal(got), normal(want); !reflect.DeepEqual(got, want) {
			all = append(all, fmt.Sprintf("%s: Terraform has\n%s\nCDK\n%s", about, asJSON(t, got), asJSON(t, want)))
		}
	}
	policies := map[string][]any{}
	for id, r := range with.Resources {
		want, of := maps.Clone(r.Properties), d.resources[id]
		delete(want, generated[r.Type])
		switch {
		case r.Type == "AWS::IAM::Policy":
			role := fmt.Sprint(d.resolve(r.Properties["Roles"].([]any)[0]))
			policies[role] = append(policies[role], d.resolve(r.Properties["PolicyDocument"]).(values)["Statement"].([]any)...)
			continue
		case r.Type == "AWS::CloudWatch::Dashboard":
			compare(id, widgets(of.values["dashboard_body"]), widgets(d.resolve(want["DashboardBody"])))
			continue
		case properties[of.kind] == nil:
			all = append(all, id+": Terraform has none")
			continue
		case r.Type == "AWS::Logs::LogGroup":
			want["Kept"] = r.DeletionPolicy == "Retain"
		}
		compare(id, properties[of.kind](of.values), d.resolve(want))
	}
	for id := range d.resources {
		compare("the type of "+id, with.Resources[id].Type != "", true)
	}
	for role := range d.policies {
		compare("permissions of "+role, permissions(d.policies[role]), permissions(policies[role]))
	}
	for name, output := range with.Outputs {
		compare("output "+name, d.outputs[strings.ToLower(name)], d.resolve(output.Value))
	}
	compare("the number of outputs", len(d.outputs), len(with.Outputs))
	return all
}

// resolve puts the values of the deployment in place of references.
func (d *deployment) resolve(v any) any {
	switch v := v.(type) {
	case []any:
		all := []any{}
		for _, one := range v {
			all = append(all, d.resolve(one))
		}
		return all
	case values:
		if id, is := v["Ref"].(string); is {
			return d.refer(id, "Ref")
		}
		if at, is := v["Fn::GetAtt"].([]any); is {
			return d.refer(at[0].(string), at[1].(string))
		}
		if join, is := v["Fn::Join"].([]any); is {
			text := ""
			for _, part := range join[1].([]any) {
				text += fmt.Sprint(d.resolve(part))
			}
			return text
		}
		all := values{}
		for name, one := range v {
			all[name] = d.resolve(one)
		}
		return all
	}
	return v
}

// refer returns an attribute of a resource. One that Terraform does not deploy has its id.
func (d *deployment) refer(id, attribute string) any {
	of := d.resources[id]
	name := map[string]string{"Arn": "arn", "ApiEndpoint": "api_endpoint", "FunctionUrl": "function_url", "QueueName": "name", "StreamArn": "stream_arn"}[attribute]
	if attribute == "Ref" {
		name = cmp.Or(map[string]string{
			"aws_apigatewayv2_api": "id", "aws_apigatewayv2_integration": "id", "aws_lambda_function": "function_name", "aws_sns_topic": "arn", "aws_sqs_queue": "url",
		}[of.kind], "name")
	}
	pseudo := map[string]string{"AWS::AccountId": "123456789012", "AWS::Partition": "aws", "AWS::Region": region}
	if v, known := of.values[name]; known {
		return v
	}
	return cmp.Or(pseudo[id], id)
}

// permissions returns a line for each action on each resource, except those on the function's own log: CDK
// attaches a policy of AWS for that.
func permissions(statements []any) (lines []string) {
	each := func(v any) []any {
		if all, are := v.([]any); are {
			return all
		}
		return []any{v}
	}
	for _, s := range statements {
		s := s.(values)
		for _, action := range each(s["Action"]) {
			for _, resource := range each(s["Resource"]) {
				if !strings.HasPrefix(action.(string), "logs:") {
					lines = append(lines, fmt.Sprint(s["Effect"], " ", action, " on ", resource, " if ", s["Condition"]))
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// widgets returns those of a dashboard. Their places do not matter.
func widgets(body any) (all []string) {
	of, _ := decoded(body).(values) // nil has none, and differs
	for _, widget := range list(of["widgets"]) {
		delete(widget, "x")
		delete(widget, "y")
		text := fmt.Sprint(widget)
		if !slices.ContainsFunc(onlyInCDK, func(name string) bool { return strings.Contains(text, name) }) {
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return all
}

// decoded returns the contents of a text that is JSON.
func decoded(v any) any {
	var of values
	if text, is := v.(string); is && json.Unmarshal([]byte(text), &of) == nil {
		return of
	}
	return v
}

// normal leaves out what has no value, decodes JSON, and sorts metrics.
func normal(v any) any {
	switch v := decoded(v).(type) {
	case values:
		all := values{}
		for name, one := range v {
			if name != "Pattern" { // of a filter, in which false is a value
				one = normal(one)
			}
			if one != nil {
				all[name] = one
			}
		}
		if len(all) > 0 {
			return all
		}
	case []any:
		var all []any
		for _, one := range v {
			all = append(all, normal(one))
		}
		slices.SortStableFunc(all, func(a, b any) int { return strings.Compare(metricID(a), metricID(b)) })
		if len(all) > 0 {
			return all
		}
	default:
		if v != nil && !reflect.ValueOf(v).IsZero() {
			return v
		}
	}
	return nil
}

func metricID(v any) string {
	of, _ := v.(values)
	id, _ := of["Id"].(string)
	return id
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	check.Must(t, err)
	return string(text)
}
