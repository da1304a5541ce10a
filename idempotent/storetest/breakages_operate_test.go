package storetest_test

import (
	"context"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func (b *broken) Apply(ctx context.Context, e driver.Entry, c driver.Change) (driver.Entry, bool, error) {
	if b.shown != nil {
		now, err := b.Inspect(ctx, e.ID)
		if err != nil {
			return driver.Entry{}, false, err
		}
		e = b.shown(e, now)
	}
	return b.Store.Apply(ctx, e, c)
}

func (b *broken) Scan(ctx context.Context, f driver.Filter, after string) (driver.Page, error) {
	if b.filter != nil {
		b.filter(&f)
	}
	return b.Store.Scan(ctx, f, after)
}

func (b *broken) Sweep(ctx context.Context, cutoff time.Time, limit int, after string) (int, driver.Progress, error) {
	return b.Store.Sweep(ctx, cutoff.Add(b.hurry), limit, after)
}

var operateBreakages = []breakage{
	{
		name: "a change compares nothing",
		shown: func(shown, now driver.Entry) driver.Entry {
			return now
		},
		fails: []string{"Operate/apply_changed/keep_after_a_heartbeat", "Operate/apply_changed/delete_after_a_step"},
	},
	{
		name: "a change compares the owner alone, as an owner's own writes do",
		shown: func(shown, now driver.Entry) driver.Entry {
			if now.Owner == shown.Owner {
				return now
			}
			return shown
		},
		fails: []string{"Operate/apply_changed/refund_after_a_heartbeat", "Operate/apply_changed/complete_after_a_step"},
	},
	{
		name: "a change compares no refunds",
		shown: func(shown, now driver.Entry) driver.Entry {
			same := shown.Record
			same.Refunds = now.Refunds
			shown.Stored = same
			return shown
		},
		fails: []string{"Operate/apply_changed/keep_after_a_refund"},
	},
	{
		name: "a change compares no ending",
		shown: func(shown, now driver.Entry) driver.Entry {
			same := shown.Record
			same.Ended = now.Ended
			shown.Stored = same
			return shown
		},
		fails: []string{"Operate/apply_changed/complete_after_its_ending"},
	},
	{
		name:   "a scan ignores the status",
		filter: func(f *driver.Filter) { f.Status = driver.Absent },
		fails:  []string{"Operate/scan/by_status"},
	},
	{
		name:   "a scan ignores the cutoff",
		filter: func(f *driver.Filter) { f.Expired = time.Time{} },
		fails:  []string{"Operate/scan/expired"},
	},
	{
		name:  "a sweep deletes what is not expired",
		hurry: 2 * time.Hour,
		fails: []string{"Sweep"},
	},
}
