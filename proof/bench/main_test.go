// Package bench compares Once with the same writes made by hand, and with Powertools for
// TypeScript, on each store. "make bench" runs it in three rounds, and writes the page
// Performance. What "go test -run '^$' -bench . -count 6 ./bench" prints of two versions of
// the code can be compared with benchstat.
package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/wire"
)

// delayVar makes this program a proxy. It is the host and port of the server, and the
// latency that the proxy adds.
const delayVar = "ONCE_BENCH_DELAY"

func TestMain(m *testing.M) {
	if delay := os.Getenv(delayVar); delay != "" {
		if err := serveDelay(strings.Fields(delay)); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		os.Exit(m.Run()) // the tests of the page need no server
	}
	// As in a Lambda function: leases end with invocations, and need no heartbeat.
	err := os.Setenv("AWS_LAMBDA_FUNCTION_NAME", "bench")
	load := loadBefore()
	if err == nil {
		err = startServers(context.Background())
	}
	code := 1
	if err == nil {
		fmt.Printf("date: %s\ncores: %d\ngo: %s\nload: %s\nnode: %s\ndynamodb: %s\npostgresql: %s\nredis: %s\n",
			time.Now().Format("2 January 2006"), runtime.NumCPU(), strings.TrimPrefix(runtime.Version(), "go"), load, nodeVersion(),
			servers[onDynamoDB].version, servers[onPostgreSQL].version, servers[onRedis].version)
		code = m.Run()
	}
	if err := errors.Join(err, stopServers()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

// loadBefore returns the load of the machine, which Linux tells.
func loadBefore() string {
	loads, _ := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(loads), " ")
	return load
}

// startDelay starts a proxy in a process of its own, whose processor time is not that of a
// benchmark. It returns the proxy's host and port.
func startDelay(host string, latency time.Duration) (addr string, err error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	proxy := exec.Command(program)
	proxy.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s", delayVar, host, latency))
	proxy.Stderr = os.Stderr
	in, inErr := proxy.StdinPipe()
	out, outErr := proxy.StdoutPipe()
	if err := errors.Join(inErr, outErr, proxy.Start()); err != nil {
		return "", err
	}
	stops = append(stops, func() error { return errors.Join(in.Close(), proxy.Wait()) })
	_, err = fmt.Fscan(out, &addr)
	return addr, err
}

// serveDelay serves until stdin ends.
func serveDelay(target []string) error {
	latency, err := time.ParseDuration(target[1])
	if err != nil {
		return err
	}
	proxy, err := wire.Delay(target[0], latency)
	if err != nil {
		return err
	}
	fmt.Println(proxy.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, proxy.Close())
}
