package dynamo

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/idempotent/driver"
)

func noise(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('!' + r.IntN(90)) // text that does not compress to much less
	}
	return b
}

func TestResultTooLargeBecomesUnavailable(t *testing.T) {
	client, table := newTable(t, nil)
	raw, compressed := uncompressed(t, newStore(t, client, table, nil)), newStore(t, client, table, nil)
	native := newStore(t, client, table, &Options{Data: Native})
	compressible := bytes.Repeat([]byte(" "), 2<<20)
	for name, c := range map[string]struct {
		s    *Store
		data []byte
		fits bool
	}{
		"fits":                  {raw, noise(attribute.MaxItemSize - 500), true},
		"just too large":        {raw, noise(attribute.MaxItemSize), false},
		"far too large":         {raw, bytes.Repeat([]byte("x"), 20<<20), false},
		"fits compressed":       {compressed, compressible, true},
		"too large compressed":  {compressed, noise(600 << 10), false},
		"native, fits":          {native, []byte(`"` + strings.Repeat("a", attribute.MaxItemSize-500) + `"`), true},
		"native, too large":     {native, []byte(`"` + strings.Repeat("a", attribute.MaxItemSize) + `"`), false},
		"native as text, large": {native, append(noise(attribute.MaxItemSize), '{'), false},
	} {
		t.Run(name, func(t *testing.T) {
			create(t, c.s, claim(name))
			got, stored := change(t, c.s, fence(name), driver.Change{Status: driver.Completed, Data: c.data}, true)
			checkFits(t, got, c.data, c.fits)
			checkFits(t, stored, c.data, c.fits)

			got, ok, err := c.s.Create(t.Context(), driver.Record{ID: name + "'", Status: driver.Completed, Data: c.data}, now, nil)
			if err != nil || !ok {
				t.Fatalf("ok %v, %v", ok, err)
			}
			checkFits(t, got, c.data, c.fits)
			checkFits(t, get(t, c.s, name+"'"), c.data, c.fits)
		})
	}
}

func checkFits(t *testing.T, r driver.Record, data []byte, fits bool) {
	t.Helper()
	if fits && (!bytes.Equal(r.Data, data) || r.Unavailable != "") {
		t.Errorf("a result of %d bytes did not fit: %q", len(data), r.Unavailable)
	}
	if !fits && (r.Data != nil || r.Unavailable == "" || r.Status != driver.Completed) {
		t.Errorf("%d bytes stored as %d bytes, unavailable %q", len(data), len(r.Data), r.Unavailable)
	}
}

// The estimate cannot know what other programs have added to the item: then
// DynamoDB's own refusal must not make the work run again.
func TestItemTooLargeForDynamoDBBecomesUnavailable(t *testing.T) {
	s := uncompressed(t, inOwnTable(t, nil))
	putItem(t, s, map[string]types.AttributeValue{"id": text("op#1"), "status": text("INPROGRESS"), "owner": text(owner), "extra": text(string(noise(300_000)))})
	data := noise(200_000)
	got, stored := change(t, s, driver.Fence{ID: "op#1", Owner: owner}, driver.Change{Status: driver.Completed, Data: data}, true)
	checkFits(t, got, data, false)
	checkFits(t, stored, data, false)
}
