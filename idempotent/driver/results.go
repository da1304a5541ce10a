package driver

import "context"

// A PayloadStore stores results that are too large for a record, which then
// contains a reference. It is used by many calls at once.
//
// The handler's work is done when Put is called. So a failed Put is repeated,
// with pauses, unless its error is wrapped with idempotent.Permanent. All tries together
// have up to two thirds of the time left to record the result, but at most the
// longer of 30 s and Config.Reserve. Each try has half of the remaining
// time. If all tries fail, the record is completed without the result, and
// replays return a *idempotent.ResultUnavailableError.
//
// If Get fails, that call returns the error. Nothing is run again, and the next
// call tries Get again.
//
// Put and Get must return when their context ends. The lease is not extended
// during Put, so a Put that outlasts it lets the work be repeated. Errors
// appear in logs and must not quote the data.
type PayloadStore interface {
	// Put stores data and returns a reference for Get: valid UTF-8, 1 to 2,048
	// bytes, without secrets. Repeated with the same data, Put stores the same
	// thing again. It must not keep or modify data.
	Put(ctx context.Context, data []byte) (reference string, err error)
	// Get returns the data of a reference, or an error if it is not exactly
	// the data of the Put. The caller may modify it.
	Get(ctx context.Context, reference string) ([]byte, error)
}

// A Sealer encrypts results, stored errors and steps before they are stored.
// Package seal contains one. It is used by many calls at once.
//
// Seal is repeated like the Put of a [PayloadStore], with the same rules for
// errors and contexts. A result is sealed before it is put into a PayloadStore.
type Sealer interface {
	// Seal returns the sealed form of data, which begins with [SealedPrefix]
	// and opens only for the same place. It must not keep or modify data.
	Seal(ctx context.Context, p Place, data []byte) ([]byte, error)
	// Open returns the data of a sealed form, and refuses a form that Seal has not
	// made for the place. A stored form may be forged, plain, or nil if a record
	// was completed without a result. Open must not modify sealed.
	Open(ctx context.Context, p Place, sealed []byte) ([]byte, error)
}

// SealedPrefix begins every sealed form, so that an Executor without a [Sealer]
// does not take it for a result. No UTF-8, and so no JSON, begins with it.
const SealedPrefix = "\xffsealed:"

// A Place is a place in a record that contains a sealed form.
type Place struct {
	Record string // its id
	Slot   string // "result", "failure", or "step:" and the step's name
}
