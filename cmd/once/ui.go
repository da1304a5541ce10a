package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/page"
	"github.com/lambda-once/once/cmd/once/internal/store"
)

const aboutUI = `
Shows the records on a page of this machine: operations with their counts, records
by operation, state, error and time, and the life of each.

It prints an address of 127.0.0.1, which opens one session: its token works once.
On a machine of yours elsewhere, forward the port with ssh -L, to the same number.
The page only reads, unless --write is set; then it also releases, resolves, redacts
and deletes, with the questions of the commands, and with --function it resumes.

A page sends up to 200 requests to the store for as long as --timeout, and says what it
cost and what it has not looked at. It ends by Ctrl-C.
`

type uiFlags struct {
	store.Flags
	port        int
	write, data bool
	function    string
}

func (o *uiFlags) add(f *flag.FlagSet) {
	o.Flags.Add(f)
	o.AddSkew(f)
	f.IntVar(&o.port, "port", 0, "the `number` of the port; 0: a free one")
	f.BoolVar(&o.write, "write", false, "release, resolve, redact and delete records, too")
	f.BoolVar(&o.data, "data", false, "show stored results, too: they may be personal data")
	f.StringVar(&o.function, "function", "", "with --write, the `name` or ARN of the function of handlers.Resume")
}

func ui(ctx context.Context, c *cli.Call) error {
	var o uiFlags
	o.add(c.FlagSet)
	if _, err := c.Arguments(0); err != nil {
		return err
	}
	if o.function != "" && !o.write {
		return cli.Endf(cli.CodeUsage, "--function needs --write: a function that resumes records changes them")
	}
	if o.port < 0 || o.port > 65535 {
		return cli.Endf(cli.CodeUsage, "--port is no number of a port")
	}
	o.Postgres.Connections = 8                      // a page that was not answered must not take the place of the next
	t, err := o.Open(context.WithoutCancel(ctx), c) // whose end would cut the connections of a write
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp4", fmt.Sprint("127.0.0.1:", o.port))
	if err != nil {
		return err
	}
	config := page.Config{Store: t, Waits: &o.Waits, Skew: o.Skew, Write: o.write, Data: o.data}
	if o.function != "" {
		config.Resume = o.resume
	}
	p := page.New(config, listener.Addr().String())
	server := &http.Server{
		Handler: p, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // its texts contain parts of requests
	}
	fmt.Fprintf(c.Out, "%s\n", p.Start())
	fmt.Fprintf(c.Err, "open this address, which works once; Ctrl-C ends it\n")
	return serveUntil(ctx, server, listener, o.Waits.Timeout+time.Second)
}

// serveUntil ends with ctx. Writes under way have as long as a request to the store.
func serveUntil(ctx context.Context, server *http.Server, listener net.Listener, within time.Duration) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	if server.Shutdown(ending) != nil {
		return errors.Join(cli.Endf(cli.CodeUnacknowledged, "an action was under way, and may have been done: look at its record"), server.Close())
	}
	return nil
}

func (o *uiFlags) resume(ctx context.Context, id string) (string, error) {
	var own store.Flags
	own.DynamoDB, own.Waits.Timeout, own.Waits.To = o.DynamoDB, o.Waits.Timeout, io.Discard
	report, err := invokeResume(ctx, &own, o.function, id)
	if err != nil {
		return "", err
	}
	return tally(report), nil
}
