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
	got, ok, err := b.Store.Apply(ctx, e, c)
	if b.redacted != nil && ok && c.Unavailable == driver.Redacted {
		b.redacted(&got.Record, e.Record)
		err = b.Put(got.Record)
	}
	return got, ok, err
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
		name:     "a redaction leaves the result",
		redacted: func(r *driver.Record, before driver.Record) { r.Data, r.Unavailable = before.Data, "" },
		fails:    []string{"Operate/redact/completed", "Operate/redact/failed"},
	},
	{
		name:     "a redaction leaves the request",
		redacted: func(r *driver.Record, before driver.Record) { r.Request = before.Request },
		fails:    []string{"Operate/redact/what_another_program_has_left"},
	},
	{
		name:     "a redaction removes the owner",
		redacted: func(r *driver.Record, _ driver.Record) { r.Owner = "" },
		fails:    []string{"Operate/redact/completed"},
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
