package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// silentServer returns the address of a server that accepts connections, and never answers.
func silentServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.Must(t, err)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
		}
	})
	t.Cleanup(func() {
		check.Nil(t, l.Close())
		accepting.Wait()
	})
	return l.Addr().String()
}

// asking are the commands that ask a server, each with arguments.
var asking = map[string][]string{
	"inspect":  {"pay#1", "2ea6f1a90c33"}, // by its id, and by a scan
	"list":     {""},
	"stats":    {"--json"},
	"release":  {"pay#1 --yes"},
	"resolve":  {"pay#1 --failed no --yes"},
	"resume":   {"pay#1 --function f --yes"},
	"redact":   {"pay#1 --yes"},
	"redrive":  {"dead --operation pay --key body.id"},
	"outbox":   {""},
	"sweep":    {"--yes", "--dry-run"},
	"check":    {"", "--json", "--function f"},
	"migrate":  {"--dry-run --dialect python --prefix pay -"},
	"postgres": {"init"},
	"ui":       {}, // its pages ask: see proof/ui
}

// TestSilentServerIsNamed has no time of its own: a command that waits on is killed with it.
func TestSilentServerIsNamed(t *testing.T) {
	addr := silentServer(t)
	stores := map[string]struct{ flags, cause, refuses string }{
		"DynamoDB":   {"--table records --endpoint http://" + addr, "in a VPC, look for an endpoint", "postgres"},
		"PostgreSQL": {"--postgres postgres://ada:s3cret@" + addr + "/pay", "a pooler without a free connection", "migrate outbox"},
		"Redis":      {"--redis redis://ada:s3cret@" + addr, "whether it wants TLS", "migrate outbox postgres sweep"},
		"cluster":    {"--cluster --redis redis://ada:s3cret@" + addr, "whether it wants TLS", "migrate outbox postgres sweep"},
	}
	t.Setenv("AWS_ENDPOINT_URL_LAMBDA", "http://"+addr)
	t.Setenv("AWS_ENDPOINT_URL_SQS", "http://"+addr)
	t.Setenv("AWS_REGION", "eu-central-1")
	var running sync.WaitGroup
	for _, c := range commands {
		var help bytes.Buffer
		_ = c.Run(t.Context(), cli.NewCall(c, cli.Terminal{Err: &help}, []string{"--help"}))
		if asks := strings.Contains(help.String(), "how long a request may take"); asks != (asking[c.Name()] != nil) {
			t.Errorf("once %s has the flag --timeout: %v", c.Name(), asks)
		}
		for _, args := range asking[c.Name()] {
			for name, store := range stores {
				if slices.Contains(strings.Fields(store.refuses), c.Name()) {
					continue
				}
				cause := store.cause
				if strings.Contains(args, "--function f") && c.Name() == "check" || c.Name() == "redrive" {
					cause = stores["DynamoDB"].cause // of Lambda or SQS, which is asked first
				}
				running.Go(func() {
					runs := (&scene{T: t}).reading
					if strings.Contains(store.flags, "--redis") {
						runs = (&scene{T: t}).process // go-redis writes a log
					}
					r := runs(strings.NewReader(`{"id":1}`), strings.Fields(c.Name()+" "+args+" --timeout 2s "+store.flags)...)
					check.Equal(t, r.code, cli.CodeFailed, name, c.Name(), args, r)
					check.Contains(t, r.out+r.err, "no answer of "+addr+" within 2s", name, c.Name(), args)
					check.Contains(t, r.out+r.err, cause, name, c.Name(), args)
					check.Lacks(t, r.out+r.err, "s3cret", name, c.Name(), args)
				})
			}
		}
	}
	running.Wait()
}

// The service of a machine's credentials is a server, too.
func TestSilentSourceOfCredentialsIsNamed(t *testing.T) {
	addr := silentServer(t)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_EC2_METADATA_DISABLED"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", "none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "none")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://"+addr)
	s := &scene{T: t}
	r := s.run("list", "--table", "records", "--region", "eu-central-1", "--timeout", "2s")
	check.Equal(t, r.code, cli.CodeFailed)
	check.Contains(t, r.err, "no answer of "+addr)
	check.Contains(t, r.err, "it is asked for credentials of AWS")
}

// behind returns the flags for the store behind a proxy, and the proxy's address.
func (s *storeScene) behind(carry wire.Carry) (flags []string, addr string) {
	s.Helper()
	flags = slices.Clone(s.flags)
	if flags[0] == "--table" {
		endpoint := s.wired(carry)
		return append(flags, "--endpoint", endpoint), strings.TrimPrefix(endpoint, "http://")
	}
	u, err := url.Parse(flags[1])
	check.Must(s, err)
	start, query := wire.PostgreSQL, "sslmode=disable"
	if flags[0] == "--redis" {
		start, query = wire.Redis, "protocol=2"
	}
	proxy, err := start(u.Host, carry)
	check.Must(s, err)
	s.Cleanup(func() { check.Nil(s, proxy.Close()) })
	u.Host, u.RawQuery = proxy.Addr(), query
	flags[1] = u.String()
	return flags, proxy.Addr()
}

// slow is a time in which a server that is not silent answers, on any machine.
const slow = "5s"

// A write that is not answered may have been applied.
func TestWriteToASilentServerMayHaveBeenApplied(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.Parallel()
		s.claim("pay#1", -time.Hour)
		var silent atomic.Bool
		flags, addr := s.behind(func(r *wire.Request) (*wire.Response, error) {
			if silent.Load() {
				<-r.Context.Done()
				return nil, wire.ErrCut
			}
			return r.Send()
		})
		r := s.between(append([]string{"release", "pay#1", "--timeout", slow}, flags...), func() { silent.Store(true) })
		check.Equal(s, r.code, cli.CodeUnacknowledged, r)
		check.Contains(s, r.err, "the record may have been written; inspect it")
		check.Contains(s, r.err, "no answer of "+addr+" within "+slow+": it has answered before")
	})
}

// late are requests of a check, behind its first findings.
var late = map[string]string{"--table": `"#id"`, "--postgres": "to_regclass", "--redis": "hash-max-listpack-value"}

func TestCheckOfASilentServerPrintsWhatItHad(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.Parallel()
		flags, addr := s.behind(func(r *wire.Request) (*wire.Response, error) {
			if bytes.Contains(r.Body, []byte(late[s.flags[0]])) {
				<-r.Context.Done()
				return nil, wire.ErrCut
			}
			return r.Send()
		})
		var running sync.WaitGroup
		for _, format := range []string{"--json=false", "--json"} {
			running.Go(func() {
				r := s.run(append([]string{"check", format, "--timeout", slow}, flags...)...)
				check.Equal(s, r.code, cli.CodeFailed, r)
				check.Contains(s, r.out, "ok")
				check.Equal(s, strings.Count(r.out, "no answer of "+addr+" within "+slow), 1, r.out)
				check.Contains(s, r.out, "it has answered before, so it hangs")
				check.True(s, strings.HasSuffix(r.err, "once: the check is not complete\n"), r.err)
			})
		}
		running.Wait()
	})
}

// A finding is read while the next request waits for its answer.
func TestCheckPrintsFindingsAsTheyCome(t *testing.T) {
	onStores(t, func(s *storeScene) {
		heard := make(chan struct{})
		flags, _ := s.behind(func(r *wire.Request) (*wire.Response, error) {
			if bytes.Contains(r.Body, []byte(late[s.flags[0]])) {
				select {
				case <-heard:
				case <-r.Context.Done():
					return nil, wire.ErrCut
				}
			}
			return r.Send()
		})
		cmd := s.command(append([]string{"check", "--timeout", "10m"}, flags...)...)
		out, err := cmd.StdoutPipe()
		check.Must(s, err)
		check.Must(s, cmd.Start())
		lines := bufio.NewReader(out)
		line, err := lines.ReadString('\n')
		check.Nil(s, err)
		check.Contains(s, line, "ok ")
		close(heard)
		rest, err := io.ReadAll(lines)
		check.Nil(s, err)
		check.Contains(s, string(rest), "ok ")
		check.Nil(s, cmd.Wait())
	})
}
