package lanes

import "runtime/pprof"

// work runs a record on a goroutine, and further ones after it.
func (b *batchRun) work(w task) {
	grow(0)
	for w.turn != nil {
		w = b.run(w)
	}
}

// run runs a record. It returns the next one for its goroutine, if there is one:
// the stack of a new goroutine would have to grow again.
//
// The record before may have left its profiler labels on the goroutine, or on
// the one that started this one. Package runtime has no means to find that it has
// left its thread locked, so the documentation of package handlers forbids that.
func (b *batchRun) run(w task) (next task) {
	t := w.turn
	defer b.end(t, &next)
	pprof.SetGoroutineLabels(w.ctx)
	t.result = b.Errors.Unfinished // unless it returns
	t.result = b.one(w.ctx, t)
	t.returned = true
	return next
}

// grow makes the stack of a goroutine as large as a call needs it. Otherwise the
// runtime doubles it three times, each time with more frames to copy, which is a
// tenth of the CPU time of a duplicate.
//
//go:noinline
func grow(i int) byte {
	var room [12 << 10]byte
	return room[i]
}
