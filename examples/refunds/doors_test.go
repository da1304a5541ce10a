package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// A door makes the event of one attempt at a refund, and reads its answer.
type door struct {
	event func(ctx context.Context, charge string, attempt int) (context.Context, string)
	read  func(payload []byte) (text string, err error)
}

var doors = map[string]door{
	"gateway": {
		func(ctx context.Context, charge string, attempt int) (context.Context, string) {
			ctx = lambdaruntime.WithClientContext(ctx, fmt.Sprintf(`{"custom":{"bedrockAgentCoreToolName":"payments___refund",
				"bedrockAgentCoreGatewayId":"shop-abc","bedrockAgentCoreTargetId":"T1","bedrockAgentCoreMcpMessageId":"%d"}}`, attempt))
			return ctx, fmt.Sprintf(`{"charge":%q,"amount":100,"reason":"attempt %d"}`, charge, attempt)
		},
		func(payload []byte) (string, error) { return string(payload), nil },
	},
	"actiongroup": {
		func(ctx context.Context, charge string, attempt int) (context.Context, string) {
			return ctx, fmt.Sprintf(`{"messageVersion":"1.0","agent":{"id":"A","alias":"B"},"sessionId":"session-%d","actionGroup":"payments",
				"function":"refund","sessionAttributes":{"customer":"ada"},"parameters":[{"name":"charge","type":"string","value":%q},
				{"name":"amount","type":"integer","value":"100"}]}`, attempt, charge)
		},
		func(payload []byte) (string, error) {
			var r struct {
				Response struct {
					FunctionResponse struct {
						ResponseBody map[string]struct{ Body string }
					}
				}
			}
			err := json.Unmarshal(payload, &r)
			return r.Response.FunctionResponse.ResponseBody["TEXT"].Body, err
		},
	},
}

func TestEventsOfBedrockAreCutOffTwoHundredTimesAndRefundEachChargeOnce(t *testing.T) {
	for name, d := range doors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := chargesOf(charges)
			c := newCutter(newFunction(t, name), all, each)
			results := make(chan refunded, len(all))
			inParallel(all, func(charge string) {
				for attempt := 1; ; attempt++ {
					ctx, event := d.event(t.Context(), charge, attempt)
					answer, ok := c.call(ctx, charge, []byte(event))
					if !ok {
						continue
					}
					text, err := d.read(answer.Payload)
					check.Nil(t, err)
					var r refunded
					if err := json.Unmarshal([]byte(text), &r); err != nil || r.ID == "" { // in progress
						continue
					}
					results <- r
					return
				}
			})
			close(results)
			want := c.once(all, charges*each)
			for r := range results {
				check.Equal(t, r, want[r.Charge], r.Charge)
			}
		})
	}
}
