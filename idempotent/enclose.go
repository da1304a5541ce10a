package idempotent

import (
	"context"
	"errors"
)

// enclosed is an encoded result, error or step as a record holds it. One of
// the three is set.
type enclosed struct {
	data        []byte
	payload     string // the reference of data that is kept elsewhere
	unavailable string // why there is none
}

// Place is where in a record something is kept.
type Place struct {
	Record string // its id
	Slot   string // "result", "failure", or "step:" and the step's name
}

// enclose makes what a handler or a step has left ready for its record. The
// work is done: what cannot be kept becomes unavailable, and is no error of
// the call. The error is for the observer.
func (x *Executor) enclose(_ context.Context, _ Place, data []byte) (enclosed, error) {
	return enclosed{data: data}, nil
}

// disclose is the way back. Its error says why there is no result.
func (x *Executor) disclose(_ context.Context, _ Place, e enclosed) ([]byte, error) {
	if e.unavailable != "" {
		return nil, errors.New(e.unavailable)
	}
	return e.data, nil
}
