package idempotent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// encodeStored makes what a handler or a step has left ready for its record: seals
// it, and puts it elsewhere if it is large. The work is done: what cannot be
// kept becomes unavailable, and is no error of the call. The error is for the
// observer.
//
// It goes on when ctx is cancelled. Of the time that ctx has it leaves a third
// for the write that follows.
func (x *Executor) encodeStored(ctx context.Context, p Place, data []byte) (protocol.Stored, error) {
	seals := x.config.Sealer != nil
	if !seals && !x.spills(p, data) {
		return protocol.Stored{Data: data}, nil
	}
	ctx, cancel := x.encodingTime(ctx)
	defer cancel()
	if seals {
		err := x.persist(ctx, func(ctx context.Context) (err error) {
			data, err = x.seal(ctx, p, data)
			return err
		})
		if err != nil {
			return protocol.Stored{Unavailable: "it could not be sealed"}, fmt.Errorf("idempotent: to seal: %w", err)
		}
		if !x.spills(p, data) {
			return protocol.Stored{Data: data}, nil
		}
	}
	return x.spill(ctx, data)
}

// spill puts data elsewhere, sealed if it has to be.
func (x *Executor) spill(ctx context.Context, data []byte) (protocol.Stored, error) {
	var reference string
	err := x.persist(ctx, func(ctx context.Context) (err error) {
		reference, err = x.put(ctx, data)
		return err
	})
	if err != nil {
		return protocol.Stored{Unavailable: "it could not be put into the payload store"}, fmt.Errorf("idempotent: to put a payload: %w", err)
	}
	return protocol.Stored{Payload: reference}, nil
}

// spills reports whether data goes elsewhere. Stored errors are small.
func (x *Executor) spills(p Place, data []byte) bool {
	return x.config.Payloads != nil && len(data) > x.config.PayloadAbove && p.Slot != failureSlot
}

// longestEncoding keeps a sealer or a payload store that is set up wrongly
// from holding every call for the whole of a long lease. A longer Reserve says
// that it is meant.
const longestEncoding = 30 * time.Second

func (x *Executor) encodingTime(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := max(longestEncoding, x.config.Reserve)
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(min(limit, time.Until(deadline)*2/3), shortestAttempt)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}

// persist tries again what fails, until ctx is done. The pieces of time are
// halves of what is left, and not attemptTime's: a large payload on a slow way
// may take long, and still half of the time is for another try.
func (x *Executor) persist(ctx context.Context, do func(context.Context) error) error {
	for try := 1; ; try++ {
		deadline, _ := ctx.Deadline()
		limited, cancel := context.WithTimeout(ctx, max(time.Until(deadline)/2, shortestAttempt))
		err := do(limited)
		cancel()
		if err == nil || isFinal(err) || ctx.Err() != nil {
			return err
		}
		x.pause(ctx, backoff(try))
		if ctx.Err() != nil {
			return err
		}
	}
}

func isFinal(err error) bool {
	_, ok := errors.AsType[*permanentError](err)
	return ok
}

// seal, and the three below, make an error of a panic, as the work is done by
// then. It would panic again.
func (x *Executor) seal(ctx context.Context, p Place, data []byte) (sealed []byte, err error) {
	defer recovered("the sealer", &err)
	sealed, err = x.config.Sealer.Seal(ctx, p, data)
	if err == nil && !isSealed(sealed) {
		err = Permanent(errors.New("idempotent: the sealer's output does not begin with SealedPrefix"))
	}
	if err != nil {
		return data, err // for another try
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

func (x *Executor) open(ctx context.Context, p Place, sealed []byte) (data []byte, err error) {
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
	return strings.HasPrefix(string(data[:min(len(data), len(SealedPrefix))]), SealedPrefix)
}

// unreadable says why there is no result, in words that hold nothing of it.
type unreadable struct {
	reason string
	err    error
}

func (e *unreadable) Error() string { return e.reason }
func (e *unreadable) Unwrap() error { return e.err }

// unavailable is what a caller gets for an error of decodeStored.
func unavailable(hash string, err error) *ResultUnavailableError {
	if u, ok := errors.AsType[*unreadable](err); ok {
		return &ResultUnavailableError{KeyHash: hash, Reason: u.reason, Err: u.err}
	}
	return &ResultUnavailableError{KeyHash: hash, Reason: "it cannot be read", Err: err}
}

// decodeStored is the way back from encodeStored. Its error says why there is no result.
func (x *Executor) decodeStored(ctx context.Context, p Place, e protocol.Stored) ([]byte, error) {
	data := e.Data
	switch {
	case e.Unavailable != "":
		return nil, &unreadable{reason: e.Unavailable}
	case e.Payload == "":
	case x.config.Payloads == nil:
		return nil, &unreadable{reason: "it is kept elsewhere, and this Executor has no Config.Payloads"}
	default:
		var err error
		if data, err = x.fetch(ctx, e.Payload); err != nil {
			return nil, &unreadable{"it is kept elsewhere and could not be fetched", bare(err)}
		}
		if data == nil {
			data = []byte{} // nil would say that no result was stored
		}
	}
	if x.config.Sealer == nil {
		if isSealed(data) {
			return nil, &unreadable{reason: "it is sealed, and this Executor has no Config.Sealer"}
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

// ended is the change that ends the record with what the handler has left. The
// error is for the observer.
func (c *call) finishedWith(ctx context.Context, l *lease, status driver.Status, data []byte) (driver.Change, error) {
	change := driver.Change{Status: status, Data: data}
	if c.x.config.Sealer == nil && c.x.config.Payloads == nil || status == driver.Completed && !c.work.hasResult() {
		return change, nil
	}
	ctx, cancel := c.settling(ctx, l)
	defer cancel()
	e, err := c.x.encodeStored(ctx, c.place(status), data)
	change.Data, change.Payload, change.Unavailable = e.Data, e.Payload, e.Unavailable
	return change, err
}

// storedData gives what a finished record holds.
func (c *call) storedData(ctx context.Context, record driver.Record) ([]byte, error) {
	e := protocol.Stored{Data: record.Data, Payload: record.Payload, Unavailable: record.Unavailable}
	return c.x.decodeStored(ctx, c.place(record.Status), e)
}

// place keeps an error from being passed for a result.
func (c *call) place(status driver.Status) Place {
	if status == driver.Failed {
		return Place{Record: c.id, Slot: failureSlot}
	}
	return Place{Record: c.id, Slot: resultSlot}
}
