package durable_test

import (
	"context"
	"testing"

	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/proof/durable"
)

// chargeWithoutKey calls an operation without a key in a durable step, and charges.
func (w *world) chargeWithoutKey(c *durable.Context, step, operation string, config *idempotent.Config, then func(context.Context)) error {
	x, err := idempotent.New(operation, w.store, config)
	if err != nil {
		return err
	}
	_, err = durable.Step(c, step, func(ctx context.Context) (string, error) {
		return idempotent.Do(durablefunc.InStep(ctx, step), x, idempotent.Key{}, func(ctx context.Context) (string, error) {
			receipt := w.bank.charge(ctx, "card")
			then(ctx)
			return receipt, nil
		})
	})
	return err
}

func TestStepWithoutAKeyRepeatsItsDownstreamKey(t *testing.T) {
	for name, config := range map[string]idempotent.Config{
		"any number of attempts": {OnMissingKey: idempotent.RunMissingKey},
		"MaxAttempts":            {OnMissingKey: idempotent.RunMissingKey, MaxAttempts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(w *world) {
				crashed := false
				w.deploy(func(c *durable.Context, _ order) (string, error) {
					return "", w.chargeWithoutKey(c, "charge", "charge", &config, func(ctx context.Context) {
						if !crashed {
							crashed = true
							durable.Crash(ctx)
						}
					})
				})
				w.wantSuccess(w.deliver("first"))
				w.wantEffects(2) // with one downstream key
			})
		})
	}
}

// Only the step is known, its execution, and the operation.
func TestStepsWithoutAKeyShareNoDownstreamKey(t *testing.T) {
	inMemory(t, func(w *world) {
		config := &idempotent.Config{OnMissingKey: idempotent.RunMissingKey}
		w.deploy(func(c *durable.Context, o order) (string, error) {
			for _, step := range []string{"left", "right"} {
				for _, operation := range []string{"charge", "refund"} {
					if err := w.chargeWithoutKey(c, step, operation, config, func(context.Context) {}); err != nil {
						return "", err
					}
				}
			}
			return "", nil
		})
		for _, id := range []string{"o-1", "o-2"} {
			w.wantSuccess(w.Start(id, `{"ID":`+quoted(id)+`}`).Run(w.Context()))
		}
		if requests, charged := w.bank.effects(); requests != 8 || charged != 8 {
			w.Errorf("%d requests, with %d keys", requests, charged)
		}
	})
}
