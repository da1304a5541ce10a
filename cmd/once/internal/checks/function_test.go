package checks

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/internal/check"
)

// Moto has no Kafka, and no variable that a function would refuse.
func TestCheckFindsWhatMotoDoesNotHave(t *testing.T) {
	const tableARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/records"
	reported := []types.FunctionResponseType{types.FunctionResponseTypeReportBatchItemFailures}
	kafka := types.EventSourceMappingConfiguration{Topics: []string{"orders"}, FunctionResponseTypes: reported, ProvisionedPollerConfig: &types.ProvisionedPollerConfig{}}
	for name, c := range map[string]struct {
		damage func(*types.EventSourceMappingConfiguration, map[string]string)
		wrong  string
	}{
		"nothing":      {func(*types.EventSourceMappingConfiguration, map[string]string) {}, ""},
		"reports":      {func(m *types.EventSourceMappingConfiguration, _ map[string]string) { m.FunctionResponseTypes = nil }, "orders: reports"},
		"pollers":      {func(m *types.EventSourceMappingConfiguration, _ map[string]string) { m.ProvisionedPollerConfig = nil }, "orders: pollers"},
		"metrics":      {func(_ *types.EventSourceMappingConfiguration, v map[string]string) { v["ONCE_METRICS"] = "on" }, "metrics"},
		"not disabled": {func(_ *types.EventSourceMappingConfiguration, v map[string]string) { v["ONCE_DISABLED"] = "false" }, ""},
		"no truth":     {func(_ *types.EventSourceMappingConfiguration, v map[string]string) { v["ONCE_DISABLED"] = "off" }, "ONCE_DISABLED"},
		"table by ARN": {func(_ *types.EventSourceMappingConfiguration, v map[string]string) { v["IDEMPOTENCY_TABLE"] = tableARN }, ""},
		"another table": {func(_ *types.EventSourceMappingConfiguration, v map[string]string) {
			v["IDEMPOTENCY_TABLE"] = tableARN + "-2"
		}, "IDEMPOTENCY_TABLE"},
	} {
		t.Run(name, func(t *testing.T) {
			m, d := kafka, &Deployed{variables: map[string]string{"IDEMPOTENCY_TABLE": "records", "ONCE_METRICS": "emf"}}
			c.damage(&m, d.variables)
			all := Findings{Waits: &store.Waits{}}
			d.checkVariables(&lambda.GetFunctionConfigurationOutput{}, "records", &all)
			d.checkSource(t.Context(), m, &all)
			found := ""
			for _, f := range all.All {
				if f.Verdict == Wrong {
					found += f.Check
				}
			}
			check.Equal(t, found, c.wrong)
		})
	}
}
