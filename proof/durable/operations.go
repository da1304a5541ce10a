package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Wait suspends the execution.
func Wait(c *Context, name string, d time.Duration) error {
	o := c.next(typeWait, name)
	switch o.Status {
	case succeeded:
		return nil
	case "":
		o.Status, o.WaitDetails = started, &waitDetails{timestamp{Time: time.Now().Add(d)}}
		if err := c.run.checkpoint(o); err != nil {
			return err
		}
	}
	return c.suspend()
}

// Step calls fn at least once, and returns its first recorded result.
func Step[T any](c *Context, name string, fn func(context.Context) (T, error)) (T, error) {
	var value, none T
	o := c.next(typeStep, name)
	switch o.Status {
	case succeeded:
		return value, json.Unmarshal([]byte(o.StepDetails.Result), &value)
	case failed:
		return none, errors.New(o.StepDetails.Error.ErrorMessage)
	case pending:
		return none, c.suspend()
	case "":
		o.StepDetails = &stepDetails{}
	}
	// A copy: the service may still read the last one.
	details := *o.StepDetails
	details.Attempt++
	o.Status, o.StepDetails = started, &details
	if err := c.run.checkpoint(o); err != nil {
		return none, err
	}
	value, err := fn(c.run.ctx)
	ended, outcome := *o, details
	ended.StepDetails = &outcome
	switch {
	case err == nil:
		text, err := json.Marshal(value)
		if err != nil {
			return none, err
		}
		ended.Status, outcome.Result = succeeded, string(text)
	case details.Attempt > stepRetries:
		value = none
		ended.Status, outcome.Error = failed, &errorObject{fmt.Sprintf("%T", err), err.Error()}
	default:
		ended.Status = pending
		outcome.NextAttemptTimestamp.Time = time.Now().Add(time.Duration(details.Attempt) * 2 * time.Second)
	}
	if err := c.run.checkpoint(&ended); err != nil {
		return none, err
	}
	if ended.Status == pending {
		return none, c.suspend()
	}
	return value, err
}

// Branches calls each function in a child context, at the same time. A
// suspension of one lets the rest go on.
func Branches(c *Context, fns ...func(*Context) error) error {
	errs := make([]error, len(fns))
	children := make([]*Context, len(fns))
	c.run.enter(len(fns))
	var all sync.WaitGroup
	for i, fn := range fns {
		c.count++
		children[i] = &Context{Context: c.Context, run: c.run, prefix: fmt.Sprintf("%s%d-", c.prefix, c.count)}
		all.Go(func() {
			errs[i] = fn(children[i])
			if !children[i].suspended {
				c.run.leave(false)
			}
		})
	}
	c.run.leave(false) // it only waits
	all.Wait()
	for _, child := range children {
		if child.suspended {
			c.suspended = true
			return errSuspended
		}
	}
	c.run.enter(1)
	return errors.Join(errs...)
}
