package keypath

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// largeEvent returns an event of about 100 KB, with its key behind many lines.
func largeEvent() json.RawMessage {
	var lines []string
	for i := range 1400 {
		lines = append(lines, fmt.Sprintf(`{"sku":"sku-%d","qty":%d,"price":%d.50,"tags":["a","b"],"gift":false}`, i, i%7, i))
	}
	return json.RawMessage(`{"detail":{"lines":[` + strings.Join(lines, ",") + `],"order_id":"o-1"},"id":"e-1","version":0}`)
}

func TestAKeyOfNamesBuildsNothingElseOfALargeEvent(t *testing.T) {
	event := largeEvent()
	key := Path[json.RawMessage]("[id, detail.order_id]")
	allocations := testing.AllocsPerRun(20, func() {
		if _, err := key(event); err != nil {
			t.Fatal(err)
		}
	})
	check.True(t, allocations < 100, allocations)
}
