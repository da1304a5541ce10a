package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// testOversize finishes with a result that is too large for DynamoDB. The work
// is done, so the record is finished in any case: with the data, or with the
// reason why it is unavailable.
func testOversize(t *testing.T, h Harness) {
	for _, status := range []driver.Status{driver.Completed, driver.Failed} {
		c := finish(status, oversize())
		h.test(t, "finish/"+string(status), claimed, wins(c), meets(claim("bob"), now))
		h.test(t, "recreate/"+string(status),
			creates(after(claim("alice"), c), time.Time{}), meets(claim("bob"), now))
	}
	adopts := adopt("alice")
	adopts.Data = []byte(oversize())
	h.test(t, "adopt", plants(after(claim("bob"), keep)), wins(adopts), meets(claim("bob"), now))
	h.test(t, "under a wrong owner", claimed, loses(finish(driver.Completed, oversize()), as("mallory")))
}

func oversize() string { return string(noise(500 << 10)) }
