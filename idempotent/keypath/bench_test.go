package keypath_test

import (
	"encoding/json"
	"testing"

	"github.com/lambda-once/once/idempotent/keypath"
)

// BenchmarkPath evaluates the usual expressions on an event as EventBridge
// sends it.
func BenchmarkPath(b *testing.B) {
	event := json.RawMessage(`{"version":"0","id":"6a7e8feb-b491-4cf7-a9f1-bf3703467718","detail-type":"OrderPlaced","source":"shop",
		"account":"111122223333","time":"2026-11-22T18:43:48Z","region":"eu-central-1","resources":["arn:aws:events:eu-central-1:111122223333:rule/orders"],
		"detail":{"order_id":"o-1","amount":12.50,"currency":"EUR","lines":[{"sku":"a","qty":2},{"sku":"b","qty":1}]}}`)
	for _, expr := range []string{"id", "detail.order_id", "[id, detail.amount]", "detail.lines[?qty == `null`].sku || id", "join('-', [source, detail.order_id])"} {
		b.Run(expr, func(b *testing.B) {
			key := keypath.Path[json.RawMessage](expr)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := key(event); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
