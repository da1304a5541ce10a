//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// Records of TestLargeTable, unless ONCE_RECORDS is set: "make
// once-large" has 100,000, for which DynamoDB Local takes a minute.
const largeTable = 20_000

// A table of any size is read in pages: with progress, and within memory. A page of once ui
// is bounded by its requests.
func TestLargeTable(t *testing.T) {
	n := largeTable
	if s := os.Getenv("ONCE_RECORDS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	s := newScene(t)
	began := time.Now()
	binary := "" // without the race detector, which takes memory; compiled as the functions of other tests are
	var building sync.WaitGroup
	building.Go(func() {
		var err error
		binary, err = lambdaruntime.Build(t.Context(), ".", ".")
		check.Nil(t, err)
	})
	s.fill(n)
	building.Wait()
	t.Cleanup(func() { check.Nil(t, os.RemoveAll(filepath.Dir(binary))) })
	t.Logf("%d records written in %v", n, time.Since(began).Round(time.Second))

	var all, stuck lines
	s.progressOf(n, s.measured(&all, binary, "list", "--json"))
	check.Equal(t, int(all), n, "lines of list")
	s.progressOf(n, s.measured(&stuck, binary, "list", "--older-than", "15m"))
	check.Equal(t, int(stuck), n/1000+1, "lines of list --older-than, with a header")

	var swept bytes.Buffer
	s.progressOf(n, s.measured(&swept, binary, "sweep", "--dry-run"))
	check.True(t, strings.HasPrefix(swept.String(), "found 0 records"), "sweep", swept.Bytes())

	var out bytes.Buffer
	s.progressOf(n, s.measured(&out, binary, "stats", "--json"))
	var got struct {
		Items      int
		Operations []record.OperationStats
	}
	check.Must(t, json.Unmarshal(out.Bytes(), &got))
	if got.Items != n || len(got.Operations) != 2 || got.Operations[0].InProgress+got.Operations[1].InProgress != n/1000 {
		t.Errorf("stats: %s", out.Bytes())
	}

	// The record that a line or an error names is one request.
	var sent atomic.Int32
	proxy := s.wired(func(r *wire.Request) (*wire.Response, error) {
		sent.Add(1)
		return r.Send()
	})
	for _, args := range [][]string{{fmt.Sprintf("pay#%064x", 2)}, {"--operation", "pay", fmt.Sprintf("%064x", 2)}} {
		sent.Store(0)
		s.ok(append([]string{"inspect", "--endpoint", proxy}, args...)...)
		check.Equal(t, sent.Load(), 1, args)
	}

	sent.Store(0)
	began = time.Now()
	check.Contains(t, s.page(binary, proxy), fmt.Sprintf("Looked at %d records.", n))
	t.Logf("the first page of once ui: %.1f s, %d requests", time.Since(began).Seconds(), sent.Load())
	check.True(t, sent.Load() <= 200, sent.Load(), "requests")
}

// page opens the first page of once ui as a browser does.
func (s *scene) page(binary, endpoint string) string {
	s.Helper()
	cmd := s.command("ui", "--endpoint", endpoint, "--timeout", "5m") // which bounds the time of a page, too
	cmd.Path = binary
	out, err := cmd.StdoutPipe()
	check.Must(s, err)
	check.Must(s, cmd.Start())
	defer func() {
		check.Nil(s, cmd.Process.Signal(os.Interrupt))
		check.Nil(s, cmd.Wait())
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	check.Must(s, err)
	cookies, err := cookiejar.New(nil)
	check.Must(s, err)
	answer, err := (&http.Client{Jar: cookies}).Get(strings.TrimSpace(address))
	check.Must(s, err)
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	check.Must(s, err)
	return string(page)
}

// lines counts them, and keeps none.
type lines int

func (l *lines) Write(p []byte) (int, error) {
	*l += lines(bytes.Count(p, []byte("\n")))
	return len(p), nil
}

// fill writes n small records, of which one in a thousand is stuck.
func (s *scene) fill(n int) {
	s.Helper()
	const batch, writers = 25, 4
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for first := w * batch; first < n; first += writers * batch {
				var puts []types.WriteRequest
				for i := first; i < min(first+batch, n); i++ {
					puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: small(i)}})
				}
				out, err := s.client.BatchWriteItem(s.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{s.table: puts}})
				if err != nil || len(out.UnprocessedItems) > 0 {
					s.Errorf("fill: %v, %d not written", err, len(out.UnprocessedItems))
					return
				}
			}
		})
	}
	group.Wait()
}

// The kernel counts the memory of a process for the commands that it starts: so a small one does
// that, and says what the command has taken.
func init() {
	binary := os.Getenv("ONCE_MEASURED")
	if binary == "" {
		return
	}
	cmd := exec.Command(binary, os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		os.Exit(1)
	}
	fmt.Fprint(os.Stderr, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	os.Exit(0)
}

// measured runs the command, bounds its memory and returns its progress.
func (s *scene) measured(out io.Writer, binary string, args ...string) string {
	s.Helper()
	cmd := s.command(args...)
	cmd.Env = append(cmd.Env, "ONCE_MEASURED="+binary)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &stderr
	began := time.Now()
	check.Must(s, cmd.Run(), "once", args, stderr.String())
	told := stderr.String()
	end := strings.LastIndex(told, "\n") + 1
	peak, err := strconv.Atoi(told[end:])
	check.Must(s, err, told)
	if runtime.GOOS == "darwin" {
		peak /= 1024 // bytes there
	}
	s.Logf("once %s: %.1f s, at most %d MB", strings.Join(args, " "), time.Since(began).Seconds(), peak/1024)
	check.True(s, peak <= 200*1024, "once", args, "took", peak/1024, "MB")
	return told[:end]
}

// progressOf demands a line for every 10,000 records or so, in which the items,
// pages and read units grow.
func (s *scene) progressOf(n int, told string) {
	s.Helper()
	items, pages, units := 0, 0, 0
	for line := range strings.Lines(told) {
		if strings.HasPrefix(line, "waiting for ") { // on a busy machine
			continue
		}
		line = strings.Replace(line, fmt.Sprintf(" of about %d", n), "", 1) // a sweep does not know it
		var i, p, u int
		if _, err := fmt.Sscanf(line, "read %d items in %d pages, %d read units", &i, &p, &u); err != nil || i-items < store.ProgressItems || i > n || p <= pages || u <= units {
			s.Errorf("told %q after %d items, %d pages and %d units: %v", line, items, pages, units, err)
		}
		items, pages, units = i, p, u
	}
	check.True(s, n-items < 2*store.ProgressItems, items, n, "records", told)
}
