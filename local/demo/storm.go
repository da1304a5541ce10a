package demo

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
	tell.note("while it is charged: %d x 201, %d x 409 with Retry-After (per environment: %s; the one without is charging)",
		len(created), len(conflicts), strings.Trim(fmt.Sprint(conflicts.perEnvironment()), "[]"))

	retries, err := c.all(ctx, len(conflicts), event)
	if err != nil {
		return 0, err
	}
	replays := retries.with(http.StatusCreated)
	tell.note("the %d refused ones retry: %d x 201, %d of them with Idempotent-Replayed, byte for byte the first body: %s",
		len(conflicts), len(replays), replays.replayed(), replays.body())

	reused, err := post(ctx, c, request("8e03978e-40d5-43dd-bc93-6894a57f9324", 99900))
	if err != nil {
		return 0, err
	}
	tell.note("the same key with a different amount: %d %s", reused.Status, reused.Body)

	if charges, err = c.charges(ctx); err != nil {
		return 0, err
	}
	if err := c.Close(); err != nil { // all is logged then
		return 0, err
	}
	executed := c.log.with("executed")
	tell.note("the function's own log: %d executed, %d replayed, %d conflicts, %d mismatch",
		len(executed), len(c.log.with("replayed")), len(c.log.with("conflict")), len(c.log.with("mismatch")))
	switch all := append(first, retries...); {
	case charges != 1:
		err = fmt.Errorf("%d charges, want 1", charges)
	case len(executed) != 1:
		err = fmt.Errorf("%d executions, want 1", len(executed))
	case len(all.with(http.StatusCreated))+len(all.with(http.StatusConflict)) != len(all):
		err = errors.New("there are responses other than 201 and 409")
	case len(created) == 0 || len(replays) != len(conflicts):
		err = errors.New("a request that was repeated after the payment did not receive it")
	case !all.with(http.StatusCreated).equal():
		err = errors.New("the bodies of the 201s are not equal byte for byte")
	case all.with(http.StatusCreated).replayed() != len(all.with(http.StatusCreated))-1:
		err = errors.New("not every 201 but the first is a replay")
	case reused.Status != http.StatusUnprocessableEntity:
		err = fmt.Errorf("a reused key received %d, want 422", reused.Status)
	default:
		err = conflicts.everywhereBut(executed[0].Environment)
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

func (r responses) equal() bool {
	return !slices.ContainsFunc(r, func(answer response) bool { return !answer.same(r[0]) })
}

func (r responses) replayed() (n int) {
	for _, answer := range r {
		if answer.replayed() {
			n++
		}
	}
	return n
}

func (r responses) body() string {
	if len(r) == 0 {
		return ""
	}
	return r[0].Body
}

func (r responses) perEnvironment() (counts [environments]int) {
	for _, answer := range r {
		counts[answer.environment]++
	}
	return counts
}

// everywhereBut checks that duplicates met the record in every environment that did
// not own it.
func (r responses) everywhereBut(owner int) error {
	for i, met := range r.perEnvironment() {
		if i != owner && met == 0 {
			return fmt.Errorf("environment %d met no conflict", i)
		}
	}
	return nil
}
