package infra

import (
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"

	"github.com/lambda-once/once/infra/internal/check"
)

// having is a function that states its operations.
func having(t *testing.T, stack awscdk.Stack, id string, operations ...string) *IdempotentFunction {
	t.Helper()
	return NewIdempotentFunction(stack, id, &IdempotentFunctionProps{
		Code: zip(t), Operations: operations, Table: NewIdempotencyTable(stack, id+"Table", nil),
	})
}

// An alarm on a name that is misspelt never rings.
func TestUnknownOperationIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		operations []string
		functions  func(awscdk.Stack) []*IdempotentFunction
		words      string
	}{
		"misspelt": {[]string{"pya"}, func(s awscdk.Stack) []*IdempotentFunction {
			return []*IdempotentFunction{having(t, s, "Payments", "pay")}
		}, `Operations: no function with metrics states "pya"; they state ["pay"]`},
		"of the grant": {[]string{"pay", "refund", "pya"}, func(s awscdk.Stack) []*IdempotentFunction {
			return []*IdempotentFunction{newFunction(t, s, func(p *IdempotentFunctionProps) {
				p.Execute = &ExecuteOptions{Operations: []string{"pay", "refund"}}
			})}
		}, `no function with metrics states "pya"`},
		"right": {[]string{"pay", "order"}, func(s awscdk.Stack) []*IdempotentFunction {
			return []*IdempotentFunction{having(t, s, "Payments", "refund", "pay"), having(t, s, "Orders", "order")}
		}, ""},
		"with a function that states none": {[]string{"pya"}, func(s awscdk.Stack) []*IdempotentFunction {
			return []*IdempotentFunction{having(t, s, "Payments", "pay"), having(t, s, "Orders")}
		}, ""},
		"without functions": {[]string{"pya"}, func(awscdk.Stack) []*IdempotentFunction { return nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			functions := c.functions(stack)
			wantRefusal(t, c.words, func() { NewAlarms(stack, "Alarms", &AlarmsProps{Functions: functions, Operations: c.operations}) })
			wantRefusal(t, c.words, func() {
				NewDashboard(stack, "Dashboard", &DashboardProps{Functions: functions, Operations: c.operations})
			})
		})
	}
}

// The operations of functions need not be repeated.
func TestAlarmsAndDashboardWatchTheOperationsOfFunctions(t *testing.T) {
	stack := newStack()
	functions := []*IdempotentFunction{having(t, stack, "Payments", "pay", "refund"), having(t, stack, "More", "refund")}
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: functions})
	NewDashboard(stack, "Dashboard", &DashboardProps{Functions: functions})
	deployed := synth(t, stack)
	var names []string
	for _, id := range deployed.IDs(alarmType) {
		if name, found := strings.CutSuffix(strings.TrimPrefix(id, "Alarms"), "LeaseLost"); found {
			names = append(names, name)
		}
	}
	check.Equal(t, names, []string{"pay", "refund"})
	check.Equal(t, titles(t, deployed)["Calls by outcome"], 2)
}

func TestFunctionRefusesOperationsThatCannotWork(t *testing.T) {
	wantRefusals(t, map[string][]string{
		`Execute does not allow "refund"`: {"pay", "refund"},
		`"pay" is blank or listed twice`:  {"pay", "pay"},
		`"päy" is no dimension`:           {"pay", "päy"},
	}, func(operations []string) {
		newFunction(t, newStack(), func(p *IdempotentFunctionProps) {
			p.Execute, p.Operations = &ExecuteOptions{Operations: []string{"pay", "päy"}}, operations
		})
	})
}
