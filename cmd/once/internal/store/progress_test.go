package store

import (
	"bytes"
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// A line for every 10,000 items or 100 pages, of all that was read so far.
func TestProgressIsOfAllPages(t *testing.T) {
	var told bytes.Buffer
	p := &Progress{To: &told}
	for _, units := range []float64{2.6, 3, 4, 5, 6} {
		p.Page(driver.Progress{Read: 6000, Units: units})
	}
	for range progressPages {
		p.Page(driver.Progress{Read: 2})
	}
	want := "read 12000 items in 2 pages, 6 read units\nread 24000 items in 4 pages, 15 read units\nread 30198 items in 104 pages, 21 read units\n"
	check.Equal(t, told.String(), want)
}
