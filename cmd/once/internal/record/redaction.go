package record

import (
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/driver"
)

// A Redaction is who removes what is stored of a person, and why.
type Redaction struct{ Statement }

func (o *Redaction) May(r *Record, now time.Time, skew time.Duration) ([]Objection, error) {
	_, all, err := r.appraise(now, skew, false)
	switch {
	case err != nil:
		return nil, err
	case r.Status == driver.InProgress:
		return nil, cli.Endf(cli.CodeRefused, "the record is in progress, and its next attempt needs what is stored: redact it once it is finished, or resolve it before; nothing was written")
	}
	return all, nil
}

func (o *Redaction) Write(r *Record, _ time.Time, _ time.Duration) (Write, error) {
	what := "It will be redacted: what is stored of its result, " + r.shape() + ", is removed. Until " + cli.Stamp(r.Expires) + ", calls run nothing, and get a ResultUnavailableError."
	if r.NeverExpires() {
		what = "It will be redacted: what is stored of its result, " + r.shape() + ", is removed. Calls run nothing, and get a ResultUnavailableError for ever."
	}
	if r.Payload != "" {
		what += "\nThe object that it names stays, as further records may have the same content. Delete it there."
	}
	return Write{r.Redaction(o.By, o.Reason), what, "redacted"}, nil
}
