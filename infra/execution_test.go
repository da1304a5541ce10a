package infra

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// The function's role may make checkpoints, which CDK sees to. The page shows the
// same for SAM.
func TestDurableFunctionHasItsConfigAndMayMakeCheckpoints(t *testing.T) {
	stack := newStack()
	newFunction(t, stack, func(p *IdempotentFunctionProps) {
		p.Durable = &DurableOptions{ExecutionTimeout: 24 * time.Hour, Retention: 28 * day}
	})
	deployed := synth(t, stack)
	config := only(t, deployed, "AWS::Lambda::Function").Properties()["DurableConfig"]
	if got := fmt.Sprint(config); got != "map[ExecutionTimeout:86400 RetentionPeriodInDays:28]" {
		t.Errorf("got %s", got)
	}
	const policy = "service-role/AWSLambdaBasicDurableExecutionRolePolicy"
	roles, err := json.Marshal(deployed.Resources("AWS::IAM::Role"))
	if err != nil || !strings.Contains(string(roles), policy) {
		t.Errorf("%v: its role is %s", err, roles)
	}
	page, err := os.ReadFile("../docs/durable.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"  ExecutionTimeout: 86400 ", "  RetentionPeriodInDays: 28\n", "AutoPublishAlias: live ", "  - arn:aws:iam::aws:policy/" + policy + "\n"} {
		if !strings.Contains(string(page), line) {
			t.Errorf("docs/durable.md has no %q", line)
		}
	}
}

func TestDurableFunctionRefuses(t *testing.T) {
	for words, o := range map[string]DurableOptions{
		"":                       {ExecutionTimeout: 366 * day, Retention: 90 * day},
		"ExecutionTimeout: 0s":   {},
		"ExecutionTimeout: 1.5s": {ExecutionTimeout: 1500 * time.Millisecond},
		"ExecutionTimeout: 8808": {ExecutionTimeout: 367 * day},
		"Retention: 36h0m0s":     {ExecutionTimeout: time.Hour, Retention: 36 * time.Hour},
		"Retention: 2184h0m0s":   {ExecutionTimeout: time.Hour, Retention: 91 * day},
		"Retention: -24h0m0s":    {ExecutionTimeout: time.Hour, Retention: -day},
	} {
		wantRefusal(t, words, func() { newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.Durable = &o }) })
	}
}
