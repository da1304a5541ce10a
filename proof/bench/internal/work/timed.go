package work

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// timed makes the calls of a job, and measures this process meanwhile.
func timed(c *connections, j Job, do func(i int) error) (Figures, error) {
	took := make([]time.Duration, j.Calls)
	runtime.GC() // what was prepared is not the calls' garbage
	var next atomic.Int64
	errs := make([]error, j.Callers)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	requests, cpu, began := c.sent.Load(), cpuTime(), time.Now()
	var running sync.WaitGroup
	for caller := range j.Callers {
		running.Go(func() {
			for errs[caller] == nil {
				i := int(next.Add(1)) - 1
				if i >= j.Calls {
					return
				}
				if !j.Kind.waits() {
					errs[caller] = do(i)
					continue
				}
				began := time.Now()
				errs[caller] = do(i)
				took[i] = time.Since(began)
			}
		})
	}
	running.Wait()
	f := Figures{Wall: time.Since(began), CPU: cpuTime() - cpu, Requests: int(c.sent.Load() - requests)}
	runtime.ReadMemStats(&after)
	f.Mallocs, f.Bytes = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	slices.Sort(took)
	f.Median = took[len(took)/2]
	return f, errors.Join(errs...)
}

// cpuTime is the time that this process has run, user and system.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // of the arguments alone
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
