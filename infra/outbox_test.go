package infra

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"

	"github.com/lambda-once/once/infra/internal/check"
)

// A relay marks outside of transactions.
func TestOutboxGrants(t *testing.T) {
	for want, c := range map[string]struct {
		grant     func(*Outbox, awsiam.IGrantable) awsiam.Grant
		condition any
	}{
		"PutItem":         {(*Outbox).GrantPublish, onlyInTransactions},
		"UpdateItem":      {(*Outbox).GrantMark, nil},
		"Scan UpdateItem": {(*Outbox).GrantOperate, nil},
	} {
		stack := newStack()
		c.grant(NewOutbox(stack, "Outbox", nil), newRole(stack))
		all := granted(t, stack, want)
		check.Equal(t, all[0]["Resource"], arn("Outbox"), want)
		check.Equal(t, all[0]["Condition"], c.condition, want)
	}
}

// CDK's own grants leave the key out, and every transaction fails.
func TestOutboxGrantsCoverTheKey(t *testing.T) {
	stack := newStack()
	NewOutbox(stack, "Outbox", &OutboxProps{Key: customerKey(stack)}).GrantPublish(newRole(stack))
	key := granted(t, stack, "PutItem", useOfKey)[1]
	check.Equal(t, key["Resource"], keyHere)
	check.Equal(t, key["Condition"], map[string]any{"StringEquals": map[string]any{"kms:ViaService": []any{"dynamodb.eu-west-1.amazonaws.com"}}})
}

func TestRelayRefuses(t *testing.T) {
	wantRefusals(t, map[string]func(*RelayProps){
		"Code: it is required":   func(p *RelayProps) { p.Code = "" },
		"Outbox: it is required": func(p *RelayProps) { p.Outbox = nil },
	}, func(change func(*RelayProps)) { newRelay(t, newStack(), change) })
}
