package store

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
)

// Waits bounds each request of a command, and says on which server it waits. A request is
// all that a client does for it: credentials, a connection and each try. The timeouts of the
// clients are for one of these alone, and some clients have none.
type Waits struct {
	Timeout time.Duration
	To      io.Writer

	mu       sync.Mutex
	told     bool  // what the command waits for
	answered bool  // by some server
	end      error // of a silent server, an interrupt or a spent budget, after which nothing is sent
	// The budget, of [Waits.Own] alone.
	sent, most int
	until      time.Time
}

type ownWaits struct{}

// Own returns a context whose requests have waits of their own, as the pages of a server
// need: a server that was silent for one of them may answer the next. They send up to most
// requests, and begin none after so long. Without most there is no such budget.
func (w *Waits) Own(ctx context.Context, most int, within time.Duration) (context.Context, *Waits) {
	own := &Waits{Timeout: w.Timeout, To: io.Discard, most: most, until: time.Now().Add(within)}
	return context.WithValue(ctx, ownWaits{}, own), own
}

func (w *Waits) of(ctx context.Context) *Waits {
	if own, found := ctx.Value(ownWaits{}).(*Waits); found {
		return own
	}
	return w
}

var ErrSpent = errors.New("this page has sent as many requests as it may")

func (w *Waits) Sent() (n int, spent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent, w.end == ErrSpent
}

func (w *Waits) count() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end == nil && w.most > 0 && (w.sent >= w.most || time.Now().After(w.until)) {
		w.end = ErrSpent
	}
	if w.end == nil {
		w.sent++
	}
	return w.end
}

func (w *Waits) Add(f *flag.FlagSet) {
	cli.DurationVar(f, &w.Timeout, "timeout", 10*time.Second, "how long a request may take, a `duration`, with its connection and retries")
}

func (w *Waits) Check(c *cli.Call) error {
	w.To = c.Err
	if w.Timeout <= 0 {
		return cli.Endf(cli.CodeUsage, "--timeout is not more than 0")
	}
	return nil
}

type server struct{ host, Cause string }

// A SilentError reports that a server has not answered in time. It wraps no error: the stores'
// advice about a deadline would be for functions.
type SilentError struct {
	server
	waited time.Duration
}

func (e *SilentError) Error() string { return e.Found() + ": " + e.Cause }

func (e *SilentError) Found() string {
	return fmt.Sprintf("no answer of %s within %s", cli.Printable(e.host), e.waited.Round(100*time.Millisecond))
}

var ErrInterrupted = errors.New("interrupted")

type withinRequest struct{}

// begin returns the context of a request to the server that at returns. ended takes the error
// of the request, and returns it or a [*SilentError]. A request within a request, as
// for credentials, belongs to the outer one.
func (w *Waits) begin(ctx context.Context, at func() *server) (_ context.Context, ended func(error) error, err error) {
	if ctx.Value(withinRequest{}) != nil {
		return ctx, func(err error) error { return err }, nil
	}
	w = w.of(ctx)
	if err := w.count(); err != nil {
		return ctx, nil, err
	}
	began := time.Now()
	bounded, cancel := context.WithTimeout(context.WithValue(ctx, withinRequest{}, true), w.Timeout)
	told := w.tell(at)
	return bounded, func(err error) error {
		late := bounded.Err()
		cancel()
		told()
		w.mu.Lock()
		defer w.mu.Unlock()
		var network net.Error
		switch {
		case err == nil:
			w.answered = true
		case ctx.Err() != nil:
			w.end = ErrInterrupted
		case late != nil, errors.As(err, &network) && network.Timeout():
			silent := &SilentError{*at(), min(time.Since(began), w.Timeout)}
			if w.answered {
				silent.Cause = "it has answered before, so it hangs, or this takes longer than --timeout allows"
			}
			w.end, err = silent, silent
		}
		return err
	}, nil
}

// Ended returns why the command sends nothing more, or nil: each further request would take
// as long again.
func (w *Waits) Ended() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end
}

const patience = 5 * time.Second

// tell names the server for which a request waits, once for all requests.
func (w *Waits) tell(at func() *server) (ended func()) {
	hasEnded := false
	timer := time.AfterFunc(patience, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.told && !hasEnded {
			w.told = true
			fmt.Fprintf(w.To, "waiting for %s since %s\n", cli.Printable(at().host), patience)
		}
	})
	return func() {
		timer.Stop()
		w.mu.Lock()
		defer w.mu.Unlock()
		hasEnded = true
	}
}
