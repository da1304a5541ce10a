package idempotent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/bounds"
	"github.com/lambda-once/once/internal/canonical"
	"github.com/lambda-once/once/internal/form"
)

// A request is stored with the claim of its call, so that package handlers can run the
// work again that its caller left behind: see Config.Resume.

// requested is the work of a wrapped handler, whose request is a value.
type requested interface {
	encodeRequest() ([]byte, error)
}

func (w *wrapped[Req, Resp]) encodeRequest() ([]byte, error) { return json.Marshal(w.request) }
func (w *wrappedEffect[Req]) encodeRequest() ([]byte, error) { return json.Marshal(w.request) }

// requireRequest panics if Config.Resume is set and JSON does not carry a request of
// type T. A handler that is resumed would run with another one.
func requireRequest[T any](of string, x *Executor) {
	if !x.config.Resume {
		return
	}
	var mistakes driver.Mistakes
	reason := canonical.Uncarried(reflect.TypeFor[T]())
	mistakes.If(reason != "", "idempotent: %s with Config.Resume: the request: %s", of, reason)
	mistakes.Panic()
}

var errNoRequest error = &driver.ConfigError{Err: errors.New("idempotent: Config.Resume stores the request of Wrap, WrapEffect and package httpapi; Do has none, as its function is a closure")}

// encodeRequest returns the stored form of the call's request, sealed and in the payload
// store where a result of its size would be.
func (c *call) encodeRequest(ctx context.Context) ([]byte, error) {
	w, ok := c.work.(requested)
	if !ok {
		return nil, errNoRequest
	}
	data, err := w.encodeRequest()
	if own, ok := errors.AsType[*json.MarshalerError](err); ok {
		return nil, own.Err // of a method of the request's type
	}
	if err != nil {
		return nil, &InvalidPayloadError{Offset: -1, Reason: "the request has no JSON, which Config.Resume stores", Err: err}
	}
	stored, err := bounds.Within(ctx, c.ClaimTime(ctx), func(ctx context.Context) (form.Stored, error) {
		return c.x.encodeStored(ctx, requestPlace(c.id), data)
	})
	if err != nil {
		return nil, &StoreError{Op: "store the request", Err: err}
	}
	if size := len(stored.Data); size > payloadAbove {
		return nil, &InvalidPayloadError{Offset: -1, Reason: fmt.Sprintf("with %d bytes it is too large to be stored; at most %d are", size, payloadAbove)}
	}
	return form.EncodeStep(stored), nil
}

func requestPlace(id string) driver.Place { return driver.Place{Record: id, Slot: "request"} }

// Request returns the request that is stored in a record, for package adapter.
func (x adapted) Request(ctx context.Context, record driver.Record) ([]byte, error) {
	if record.Request == nil {
		return nil, &ResumeError{Reason: "it has no request: its claim was made without Config.Resume"}
	}
	data, err := x.decodeStored(ctx, requestPlace(record.ID), form.DecodeStep(record.Request))
	if err != nil {
		return nil, &ResumeError{Reason: "its request is unavailable: " + err.Error(), Err: errors.Unwrap(err)}
	}
	return data, nil
}

// The methods of an Executor for package adapter, which documents them.

func (x adapted) ClockSkew() time.Duration { return x.config.ClockSkew }
func (x adapted) Observer() Observer       { return x.config.Observer }
func (x adapted) Resumes() bool            { return x.config.Resume }
func (x adapted) Store() driver.Store      { return x.store }

// resumed returns the record that the call is to take over, if options.Resumed is set.
func (c *call) resumed() *driver.Record { return c.options.Resumed.(*driver.Record) }

// A ResumeError reports that a record was not resumed, and why. Nothing was run.
type ResumeError struct {
	Reason string
	Err    error // the cause, or nil
}

func (e *ResumeError) Error() string {
	return "idempotent: the record is not resumed: " + e.Reason
}

// SafeText returns the whole text.
func (e *ResumeError) SafeText() string { return e.Error() }

// Is reports whether target is [ErrResume].
func (e *ResumeError) Is(target error) bool { return target == ErrResume }

// Unwrap returns Err.
func (e *ResumeError) Unwrap() error { return e.Err }
