package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/internal/check"
)

// On a terminal the line is drawn again and removed; elsewhere there is one for all requests.
func TestPersonSeesWhatACommandWaitsFor(t *testing.T) {
	for redraw, want := range map[bool]string{
		true:  strings.Repeat("\rwaiting for db:5432 since 5s\x1b[K\rwaiting for db:5432 since 6s\x1b[K\r\x1b[K", 2),
		false: "waiting for db:5432 since 5s\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			var told bytes.Buffer
			w := &waits{timeout: time.Minute, to: &told, redraw: redraw}
			for _, takes := range []time.Duration{4 * time.Second, 6500 * time.Millisecond, 6500 * time.Millisecond} {
				_, ended, err := w.begin(t.Context(), func() *server { return &server{host: "db:5432"} })
				check.Must(t, err)
				time.Sleep(takes)
				check.Nil(t, ended(nil))
			}
			check.Equal(t, told.String(), want)
		})
	}
}

// Each request after it would take as long again.
func TestNothingIsSentAfterASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &waits{timeout: time.Second, to: io.Discard}
		at := func() *server { return &server{"db:5432", causePostgres} }
		ctx, ended, err := w.begin(t.Context(), at)
		check.Must(t, err)
		<-ctx.Done()
		silent := ended(context.Cause(ctx))
		check.Contains(t, silent.Error(), "no answer of db:5432 within 1s: look at its security group")
		_, _, err = w.begin(t.Context(), at)
		check.Equal(t, err, silent)
	})
}

// A page of Redis is read by a pipeline, whose commands have an error each.
func TestEachCommandOfAPipelineNamesTheSilentServer(t *testing.T) {
	flags := redisFlags{url: "redis://" + silentServer(t)}
	client, err := flags.client(t.Context(), &waits{timeout: 100 * time.Millisecond, to: io.Discard})
	check.Must(t, err)
	for range 2 { // of which the second is not sent
		pipe := client.Pipeline()
		clock := pipe.Time(t.Context())
		_, err := pipe.Exec(t.Context())
		check.As[*silentError](t, err)
		check.As[*silentError](t, clock.Err())
	}
	check.Nil(t, client.Close())
}
