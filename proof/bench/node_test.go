package bench

import (
	"crypto/rand"
	"errors"
	"io"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/nodemodules"
	"github.com/lambda-once/once/internal/notrun"
)

// workers are processes of Node, one for each series in TypeScript.
var workers = map[string]*rpc.Client{}

// worker returns the process of a series, and starts it for the first benchmark.
func worker(b *testing.B, s *series) *rpc.Client {
	if workers[s.name] != nil {
		return workers[s.name]
	}
	dir, err := nodemodules.Install(b.Context(), "bench", os.DirFS("typescript"), os.Stderr)
	must(b, err)
	command := exec.Command("node", "--expose-gc", filepath.Join(dir, "worker.mjs"))
	command.Env = append(os.Environ(), "ONCE_BENCH_SERIES="+s.name, "NODE_NO_WARNINGS=1")
	command.Stderr, command.WaitDelay = os.Stderr, 5*time.Second
	in, inErr := command.StdinPipe()
	out, outErr := command.StdoutPipe()
	must(b, inErr, outErr, command.Start())
	client := jsonrpc.NewClient(struct {
		io.Reader
		io.WriteCloser
	}{out, in})
	stops = append(stops, func() error { return errors.Join(client.Close(), command.Wait()) })
	workers[s.name] = client
	if !testing.Short() {
		for _, kind := range []string{first, duplicate, conflict} { // compiles what runs often
			s.nodeJob(b, client, kind, 0, 16, 1000)
		}
	}
	return client
}

// nodeVersion returns the version of Node, or "" without it.
var nodeVersion = sync.OnceValue(func() string {
	out, err := exec.Command("node", "--version").Output()
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "v")
})

// nodeCalls has the process of a series make the calls, and reports what it has measured.
func (s *series) nodeCalls(b *testing.B, kind string, latency time.Duration, callers int) {
	if nodeVersion() == "" {
		notrun.Say(b, "without TypeScript: there is no Node")
		return
	}
	took := s.nodeJob(b, worker(b, s), kind, latency, callers, b.N)
	b.ReportMetric(float64(took.Wall)/float64(b.N), "ns/op")
	b.ReportMetric(float64(took.CPU)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(took.Requests)/float64(b.N), "requests/op")
	if want := s.roundTrips(kind); b.N == 1 && took.Requests != want {
		b.Fatalf("%d requests, want %d", took.Requests, want)
	}
}

// A nodeResult is what a process of Node has measured.
type nodeResult struct {
	Wall, CPU time.Duration
	Requests  int
}

// nodeJob has n calls made.
func (s *series) nodeJob(b *testing.B, by *rpc.Client, kind string, latency time.Duration, callers, n int) (took nodeResult) {
	endpoint, table := s.at(latency)
	repeated := min(n, distinct)
	if kind == conflict {
		repeated = min(n, callers)
	}
	must(b, by.Call("Worker.Measure", map[string]any{
		"Kind": kind, "Endpoint": endpoint, "Table": table, "Keys": rand.Text(), "Calls": n, "Callers": min(callers, n), "Distinct": repeated,
	}, &took))
	return took
}
