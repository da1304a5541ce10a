package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	requests     = 120
	environments = 4
)

// storm sends one payment many times at once, while it is being made and again
// afterwards. It returns the number of charges.
func (s *stage) storm(ctx context.Context, tell *timeline) (charges int, err error) {
	tell.title("A storm: one payment of 12.99, sent %d times at once to %d environments", requests, environments)
	c, err := s.deploy(ctx, environments, 10*time.Second, 2*time.Second)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for i := range environments {
		if _, err := post(ctx, c.Environment(i), []byte(`{"rawPath":"/"}`)); err != nil {
			return 0, err
		}
	}
	tell.note("%d environments are warm", c.ColdStarts())

	event := request("8e03978e-40d5-43dd-bc93-6894a57f9324", 1299)
	first, err := c.all(ctx, requests, event)
	if err != nil {
		return 0, err
	}
	created, conflicts := first.with(http.StatusCreated), first.with(http.StatusConflict)
	met := make([]int, environments) // conflicts
	for _, answer := range conflicts {
		met[answer.environment]++
	}
	tell.note("while it is charged: %d x 201, %d x 409 with Retry-After (per environment: %s; the one without is charging)",
		len(created), len(conflicts), strings.Trim(fmt.Sprint(met), "[]"))

	retries, err := c.all(ctx, len(conflicts), event)
	if err != nil {
		return 0, err
	}
	replays, all := retries.with(http.StatusCreated), append(first, retries...)
	paid := all.with(http.StatusCreated)
	if len(created) == 0 || len(replays) != len(conflicts) {
		return 0, errors.New("a request that was repeated after the payment did not receive it")
	}
	tell.note("the %d refused ones retry: %d x 201, %d of them with Idempotent-Replayed, byte for byte the first body: %s",
		len(conflicts), len(replays), len(replays)-len(replays.originals()), paid[0].Body)

	reused, err := post(ctx, c, request("8e03978e-40d5-43dd-bc93-6894a57f9324", 99900))
	if err != nil {
		return 0, err
	}
	tell.note("the same key with a different amount: %d %s", reused.Status, reused.Body)

	if charges, err = c.count(ctx, c.payments); err != nil {
		return 0, err
	}
	if err := c.Close(); err != nil { // all is logged then
		return 0, err
	}
	tell.note("the function's own log: %d executed, %d replayed, %d conflicts, %d mismatch",
		c.log["executed"], c.log["replayed"], c.log["conflict"], c.log["mismatch"])
	originals := paid.originals()
	switch {
	case charges != 1:
		err = fmt.Errorf("%d charges, want 1", charges)
	case c.log["executed"] != 1:
		err = fmt.Errorf("%d executions, want 1", c.log["executed"])
	case len(paid)+len(all.with(http.StatusConflict)) != len(all):
		err = errors.New("there are responses other than 201 and 409")
	case slices.ContainsFunc(paid, func(answer response) bool { return !answer.same(paid[0]) }):
		err = errors.New("the bodies of the 201s are not equal byte for byte")
	case len(originals) != 1:
		err = errors.New("not every 201 but the first is a replay")
	case reused.Status != http.StatusUnprocessableEntity:
		err = fmt.Errorf("a reused key received %d, want 422", reused.Status)
	}
	// Duplicates met the record in every environment that does not own it.
	for i, n := range met {
		if err == nil && n == 0 && i != originals[0].environment {
			err = fmt.Errorf("environment %d met no conflict", i)
		}
	}
	return charges, err
}

type responses []response

// all sends an event n times at once, and returns all responses.
func (c *scene) all(ctx context.Context, n int, event []byte) (responses, error) {
	answers, errs := make(responses, n), make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { answers[i], errs[i] = post(ctx, c, event) })
	}
	group.Wait()
	return answers, errors.Join(errs...)
}

func (r responses) with(status int) responses {
	return slices.DeleteFunc(slices.Clone(r), func(answer response) bool { return answer.Status != status })
}

// originals returns the responses that are no replays.
func (r responses) originals() responses {
	return slices.DeleteFunc(slices.Clone(r), response.replayed)
}
