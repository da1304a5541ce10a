package store

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/internal/check"
)

func TestPersonSeesWhatACommandWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		w := &Waits{Timeout: time.Minute, To: &told}
		for _, takes := range []time.Duration{4 * time.Second, 6500 * time.Millisecond, 6500 * time.Millisecond} {
			_, ended, err := w.begin(t.Context(), func() *server { return &server{host: "db:5432"} })
			check.Must(t, err)
			time.Sleep(takes)
			check.Nil(t, ended(nil))
		}
		check.Equal(t, told.String(), "waiting for db:5432 since 5s\n")
	})
}

// Each request after it would take as long again.
func TestNothingIsSentAfterASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Waits{Timeout: time.Second, To: io.Discard}
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
	silent, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
	check.Must(t, err)
	t.Cleanup(func() { check.Nil(t, silent.Close()) })
	flags := redisFlags{url: "redis://" + silent.Addr().String()}
	client, err := flags.client(t.Context(), &Waits{Timeout: 100 * time.Millisecond, To: io.Discard})
	check.Must(t, err)
	for range 2 { // of which the second is not sent
		pipe := client.Pipeline()
		clock := pipe.Time(t.Context())
		_, err := pipe.Exec(t.Context())
		check.As[*SilentError](t, err)
		check.As[*SilentError](t, clock.Err())
	}
	check.Nil(t, client.Close())
}

// A page has requests of its own: neither a budget nor a silent server of one ends those of
// another.
func TestOwnWaitsEndAlone(t *testing.T) {
	all := &Waits{Timeout: time.Minute, To: io.Discard}
	at := func() *server { return &server{"h", "c"} }
	ask := func(ctx context.Context, fails error) error {
		_, ended, err := all.begin(ctx, at)
		if err != nil {
			return err
		}
		return ended(fails)
	}
	bounded, own := all.Own(t.Context(), 2, time.Hour)
	check.Nil(t, ask(bounded, nil))
	check.Nil(t, ask(bounded, nil))
	check.Is(t, ask(bounded, nil), ErrSpent)
	n, spent := own.Sent()
	check.Equal(t, n, 2)
	check.True(t, spent)
	late, _ := all.Own(t.Context(), 2, -time.Second)
	check.Is(t, ask(late, nil), ErrSpent)

	hung, own := all.Own(t.Context(), 0, 0)
	check.As[*SilentError](t, ask(hung, &net.DNSError{IsTimeout: true}))
	check.As[*SilentError](t, ask(hung, nil))
	_, spent = own.Sent()
	check.False(t, spent)
	next, _ := all.Own(t.Context(), 0, 0)
	check.Nil(t, ask(next, nil))
	check.Nil(t, ask(t.Context(), nil))
}
