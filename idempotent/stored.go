package idempotent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/bounds"
	"github.com/lambda-once/once/internal/form"
)

const (
	resultSlot  = "result"
	failureSlot = "failure"

	payloadAbove = 256 << 10 // bytes of an encoded result that goes to the payload store
	maxReference = 2 << 10
)

// encodeStored returns the stored form of a result, error or step: sealed, and
// in the payload store if it is large. If that fails, the stored form is
// unavailable, and the error is for the observer: the work is done.
//
// encodeStored continues when ctx is cancelled. It leaves a third of the time
// of ctx for the write that follows.
func (x *Executor) encodeStored(ctx context.Context, p driver.Place, data []byte) (form.Stored, error) {
	seals := x.config.Sealer != nil
	if !seals && !x.spills(p, data) {
		return form.Stored{Data: data}, nil
	}
	ctx, cancel := x.encodingTime(ctx)
	defer cancel()
	if seals {
		err := x.persist(ctx, func(ctx context.Context) (err error) {
			data, err = x.seal(ctx, p, data)
			return err
		})
		if err != nil {
			return form.Stored{Unavailable: "it could not be sealed"}, fmt.Errorf("idempotent: seal: %w", err)
		}
		if !x.spills(p, data) {
			return form.Stored{Data: data}, nil
		}
	}
	return x.spill(ctx, data)
}

// spill puts data, sealed if necessary, into the payload store.
func (x *Executor) spill(ctx context.Context, data []byte) (form.Stored, error) {
	var reference string
	err := x.persist(ctx, func(ctx context.Context) (err error) {
		reference, err = x.put(ctx, data)
		return err
	})
	if err != nil {
		return form.Stored{Unavailable: "it could not be put into the payload store"}, fmt.Errorf("idempotent: put a payload: %w", err)
	}
	return form.Stored{Payload: reference}, nil
}

// spills reports whether data goes to the payload store; a stored error never does.
func (x *Executor) spills(p driver.Place, data []byte) bool {
	return x.config.Payloads != nil && len(data) > payloadAbove && p.Slot != failureSlot
}

// longestEncoding bounds how long a misconfigured sealer or payload store
// delays each call. A longer Reserve overrides it.
const longestEncoding = 30 * time.Second

func (x *Executor) encodingTime(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := max(longestEncoding, x.config.Reserve)
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(min(limit, time.Until(deadline)*2/3), bounds.ShortestTry)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}

// persist calls do until it succeeds or ctx is done. Each try has half of the
// remaining time, because a large payload may be slow.
func (x *Executor) persist(ctx context.Context, do func(context.Context) error) error {
	for try := 1; ; try++ {
		deadline, _ := ctx.Deadline()
		limited, cancel := context.WithTimeout(ctx, max(time.Until(deadline)/2, bounds.ShortestTry))
		err := do(limited)
		cancel()
		_, final := errors.AsType[*permanentError](err)
		if err == nil || final || ctx.Err() != nil {
			return err
		}
		x.pause(ctx, backoff(try, err))
		if ctx.Err() != nil {
			return err
		}
	}
}

// seal, put, open and fetch return a panic as an error, because the work is
// done and would panic again.
func (x *Executor) seal(ctx context.Context, p driver.Place, data []byte) (sealed []byte, err error) {
	defer recovered("the sealer", &err)
	sealed, err = x.config.Sealer.Seal(ctx, p, data)
	if err == nil && !isSealed(sealed) {
		err = Permanent(errors.New("idempotent: the sealer's output does not begin with SealedPrefix"))
	}
	if err != nil {
		return data, err // persist tries again
	}
	return sealed, nil
}

func (x *Executor) put(ctx context.Context, data []byte) (reference string, err error) {
	defer recovered("the payload store", &err)
	reference, err = x.config.Payloads.Put(ctx, data)
	if err == nil && (reference == "" || len(reference) > maxReference || !utf8.ValidString(reference)) {
		err = Permanent(fmt.Errorf("idempotent: the payload store's reference of %d bytes is empty, longer than %d bytes or not UTF-8", len(reference), maxReference))
	}
	return reference, err
}

func (x *Executor) open(ctx context.Context, p driver.Place, sealed []byte) (data []byte, err error) {
	defer recovered("the sealer", &err)
	return x.config.Sealer.Open(ctx, p, sealed)
}

func (x *Executor) fetch(ctx context.Context, reference string) (data []byte, err error) {
	defer recovered("the payload store", &err)
	return x.config.Payloads.Get(ctx, reference)
}

func recovered(who string, err *error) {
	if p := recover(); p != nil {
		*err = Permanent(fmt.Errorf("idempotent: %s panicked: %v", who, p))
	}
}

func isSealed(data []byte) bool {
	return strings.HasPrefix(string(data[:min(len(data), len(driver.SealedPrefix))]), driver.SealedPrefix)
}

// unreadable reports why there is no result, without any of its contents.
type unreadable struct {
	reason string
	err    error
}

func (e *unreadable) Error() string { return e.reason }
func (e *unreadable) Unwrap() error { return e.err }

// unavailable returns the caller's error for an error of decodeStored.
func unavailable(shown string, err error) *ResultUnavailableError {
	if u, ok := errors.AsType[*unreadable](err); ok {
		return &ResultUnavailableError{RecordID: shown, Reason: u.reason, Err: u.err}
	}
	return &ResultUnavailableError{RecordID: shown, Reason: "it cannot be read", Err: err}
}

// decodeStored reverses encodeStored. Its error reports why there is no result.
func (x *Executor) decodeStored(ctx context.Context, p driver.Place, e form.Stored) ([]byte, error) {
	data := e.Data
	switch {
	case e.Unavailable != "":
		return nil, &unreadable{reason: e.Unavailable}
	case e.Payload == "":
	case x.config.Payloads == nil:
		return nil, &unreadable{reason: "the result is in a payload store, but Config.Payloads is not set"}
	default:
		var err error
		if data, err = x.fetch(ctx, e.Payload); err != nil {
			return nil, &unreadable{"it could not be fetched from the payload store", bare(err)}
		}
		if data == nil {
			data = []byte{} // nil would say that no result was stored
		}
	}
	if x.config.Sealer == nil {
		if isSealed(data) {
			return nil, &unreadable{reason: "the result is sealed, but Config.Sealer is not set"}
		}
		return data, nil
	}
	opened, err := x.open(ctx, p, data)
	if err != nil {
		return nil, &unreadable{"it could not be opened", bare(err)}
	}
	if opened == nil && data != nil {
		opened = []byte{}
	}
	return opened, nil
}

// place has a slot for errors of its own, so that none is taken for a result.
func (w *writer) place(status driver.Status) driver.Place {
	if status == driver.Failed {
		return driver.Place{Record: w.id, Slot: failureSlot}
	}
	return driver.Place{Record: w.id, Slot: resultSlot}
}
