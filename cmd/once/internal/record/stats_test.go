package record

import (
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// As many operations as there are records do not take the memory of all.
func TestStatsBoundsOperations(t *testing.T) {
	c := Counts{}
	for i := range 3 * maxOperations {
		c.Add(New(driver.Entry{Record: driver.Record{ID: strings.Repeat("x", i) + "#1", Status: driver.Completed}}), time.Now())
	}
	if all := c.Sorted(); len(all) > maxOperations+1 || all[0].Operation != "" && all[0].Operation != otherwise {
		t.Errorf("%d operations", len(all))
	}
	check.Equal(t, c[otherwise].Completed, 2*maxOperations, "others")
}
