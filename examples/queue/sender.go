package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// A sender sends notices to a receiver.
type sender struct {
	river.WorkerDefaults[notice]
	pool        *pgxpool.Pool
	url         string
	timeout     time.Duration // of a job
	rescueAfter time.Duration
}

// run works on jobs until shortly before the deadline of the invocation. A job that is
// under way then has its whole timeout to finish, and a second remains to store the end.
func (s *sender) run(ctx context.Context, _ json.RawMessage) error {
	deadline, _ := ctx.Deadline()
	fetching, cancel := context.WithDeadline(ctx, deadline.Add(-s.timeout-time.Second))
	defer cancel()
	if fetching.Err() != nil {
		return errors.New("the timeout of the function is not longer than JOB_TIMEOUT and a second")
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, s)
	client, err := river.NewClient(riverpgxv5.New(s.pool), &river.Config{
		JobTimeout:           s.timeout,
		PollOnly:             true, // LISTEN would hold a connection of a frozen environment
		Queues:               map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 10}},
		RescueStuckJobsAfter: s.rescueAfter,
		Workers:              workers,
	})
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	<-fetching.Done()
	return client.Stop(ctx)
}

// Work sends a notice. It may be called again for a notice that was received: the
// receiver recognizes it by its key.
func (s *sender) Work(ctx context.Context, job *river.Job[notice]) error {
	body, err := json.Marshal(job.Args.Transfer)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", `"`+job.Args.ID+`"`)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the receiver responded %s", response.Status)
	}
	return nil
}
