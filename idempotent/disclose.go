package idempotent

import (
	"context"
	"errors"

	"github.com/lambda-once/once/idempotent/driver"
)

// undisclosed says why there is no result, in words that hold nothing of it.
type undisclosed struct {
	reason string
	err    error
}

func (e *undisclosed) Error() string { return e.reason }
func (e *undisclosed) Unwrap() error { return e.err }

// unavailable is what a caller gets for an error of disclose.
func unavailable(hash string, err error) *ResultUnavailableError {
	if u, ok := errors.AsType[*undisclosed](err); ok {
		return &ResultUnavailableError{KeyHash: hash, Reason: u.reason, Err: u.err}
	}
	return &ResultUnavailableError{KeyHash: hash, Reason: "it cannot be read", Err: err}
}

// disclose is the way back from enclose. Its error says why there is no result.
func (x *Executor) disclose(ctx context.Context, p Place, e enclosed) ([]byte, error) {
	data := e.data
	switch {
	case e.unavailable != "":
		return nil, &undisclosed{reason: e.unavailable}
	case e.payload == "":
	case x.config.Payloads == nil:
		return nil, &undisclosed{reason: "it is kept elsewhere, and this Executor has no Config.Payloads"}
	default:
		var err error
		if data, err = x.fetch(ctx, e.payload); err != nil {
			return nil, &undisclosed{"it is kept elsewhere and could not be fetched", unmarked(err)}
		}
		if data == nil {
			data = []byte{} // nil would say that no result was stored
		}
	}
	if x.config.Sealer == nil {
		if isSealed(data) {
			return nil, &undisclosed{reason: "it is sealed, and this Executor has no Config.Sealer"}
		}
		return data, nil
	}
	opened, err := x.open(ctx, p, data)
	if err != nil {
		return nil, &undisclosed{"it could not be opened", unmarked(err)}
	}
	if opened == nil && data != nil {
		opened = []byte{}
	}
	return opened, nil
}

// ended is the change that ends the record with what the handler has left. The
// error is for the observer.
func (c *call) ended(ctx context.Context, h *hold, status driver.Status, data []byte) (driver.Change, error) {
	end := driver.Change{Status: status, Data: data}
	if c.x.config.Sealer == nil && c.x.config.Payloads == nil || status == driver.Completed && !c.work.hasResult() {
		return end, nil
	}
	ctx, cancel := c.finishing(ctx, h)
	defer cancel()
	e, err := c.x.enclose(ctx, c.place(status), data)
	end.Data, end.Payload, end.Unavailable = e.data, e.payload, e.unavailable
	return end, err
}

// disclosed gives what a finished record holds.
func (c *call) disclosed(ctx context.Context, record driver.Record) ([]byte, error) {
	e := enclosed{data: record.Data, payload: record.Payload, unavailable: record.Unavailable}
	return c.x.disclose(ctx, c.place(record.Status), e)
}

// place keeps an error from being passed for a result.
func (c *call) place(status driver.Status) Place {
	if status == driver.Failed {
		return Place{Record: c.id, Slot: failureSlot}
	}
	return Place{Record: c.id, Slot: resultSlot}
}
