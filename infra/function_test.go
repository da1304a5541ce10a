package infra

import (
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/infra/internal/check"
)

func TestFunction(t *testing.T) {
	stack := newStack()
	newFunction(t, stack, func(p *IdempotentFunctionProps) {
		p.Environment = map[string]string{"ORDERS_TABLE": "orders"}
	})
	deployed := synth(t, stack)
	p := only(t, deployed, "AWS::Lambda::Function").Properties()
	delete(p, "Code")
	delete(p, "Role")
	check.Equal(t, p, map[string]any{
		"Architectures": []any{"arm64"},
		"Environment": map[string]any{"Variables": map[string]any{
			"AWS_LAMBDA_LOG_LEVEL": "INFO", "IDEMPOTENCY_TABLE": ref("Table"), "ONCE_METRICS": "emf", "ORDERS_TABLE": "orders",
		}},
		"Handler":       "bootstrap",
		"LoggingConfig": map[string]any{"LogGroup": ref("FunctionLogs")},
		"MemorySize":    256.0,
		"Runtime":       "provided.al2023",
		"Timeout":       10.0,
	})
	check.Equal(t, only(t, deployed, "AWS::Logs::LogGroup").Properties()["RetentionInDays"], 30.0)
	for id, r := range deployed.Resources() {
		if strings.HasPrefix(r["Type"].(string), "Custom::") {
			t.Errorf("%s: a function sets something at deployment", id)
		}
	}
}

func TestFunctionRefuses(t *testing.T) {
	wantRefusals(t, map[string]func(*IdempotentFunctionProps){
		"Live.ProvisionedConcurrency: -1 is": live(-1),
		"Code: it is required":               func(p *IdempotentFunctionProps) { p.Code = "" },
		"Code: build the function first":     func(p *IdempotentFunctionProps) { p.Code = "absent.zip" },
		"Table: it is required":              func(p *IdempotentFunctionProps) { p.Table = nil },
		"Retention: -1s is negative":         func(p *IdempotentFunctionProps) { p.Retention = -time.Second },
		"Timeout: 1.5s is not whole seconds": func(p *IdempotentFunctionProps) { p.Timeout = 1500 * time.Millisecond },
		"Timeout: 16m0s is not":              func(p *IdempotentFunctionProps) { p.Timeout = 16 * time.Minute },
	}, func(change func(*IdempotentFunctionProps)) { newFunction(t, newStack(), change) })
}
