//go:build !race

package lanes_test

import "slices"

// promises checks what holds while every record waits. It looks at records alone, and not
// at the runner: whether a record ahead has its turn is not known before its claim is
// answered. before are the records one choice earlier.
func (p *play) promises(before []record) {
	for i := range p.records {
		r := &p.records[i]
		r.refused = p.isRefused(i)
		r.ready = p.isReady(i) && (!r.launched || r.waitsForTurn())
	}
	p.roomIsUsed()
	for i := range p.records {
		r := &p.records[i]
		if r.lingers {
			p.mayLinger(i)
		}
		if p.yields(p.records) && r.waitsForTurn() {
			p.check(r.gaveBack, "%d keeps its claim while another yields", i)
		}
		if before != nil {
			p.mayBegin(i, before)
		}
	}
	p.wasLate = p.late
}

// mayBegin checks what record i has begun since before.
func (p *play) mayBegin(i int, before []record) {
	r, was := &p.records[i], &before[i]
	begins := r.unrecorded() && (!was.launched || was.waitsForTurn())
	p.check(!begins || !was.refused, "%d began after it was refused", i)
	for j := range i {
		p.check(!begins || !before[j].ready || !p.records[j].ready, "%d began, and not %d, which was ready", i, j)
	}
	if p.yields(before) && p.yields(p.records) {
		p.check(was.launched || !r.ahead, "%d began ahead while another yields", i)
	}
	if slices.ContainsFunc(before, awaits) && slices.ContainsFunc(p.records, awaits) {
		p.check(!begins, "%d began while another awaits the completions", i)
	}
	if r.awaits && r.waits == running && was.waits != running {
		isHeld := func(other record) bool { return other.returned && !other.ended }
		p.check(!slices.ContainsFunc(p.records, isHeld), "%d began before the others were recorded", i)
		p.check(!p.wasLate, "%d began too late", i)
	}
}

func awaits(r record) bool {
	return r.awaits && r.started && !r.returned && !r.ended && r.waits == free
}

func (p *play) yields(records []record) bool {
	return slices.ContainsFunc(records, func(r record) bool { return r.yields && r.started && !r.ended })
}

// waitsForTurn reports whether a record has begun ahead, and has no turn.
func (r *record) waitsForTurn() bool { return r.ahead && !r.started && !r.ended && r.waits == free }

// roomIsUsed checks that no record waits for room that is there, and that no completion
// lingers that keeps a record waiting.
func (p *play) roomIsUsed() {
	for i := range p.records {
		if r := &p.records[i]; r.ahead && !r.ready && p.isReady(i) {
			return // it may have its turn
		}
	}
	waits := slices.IndexFunc(p.records, func(r record) bool { return r.ready })
	isFull := p.count((*record).runs) >= p.runner.Concurrency
	if waits < 0 || isFull || slices.ContainsFunc(p.records, awaits) {
		return
	}
	p.check(p.count((*record).unrecorded) >= p.unrecordedLimit(), "%d waits beside room", waits)
	p.check(p.count(func(r *record) bool { return r.lingers }) == 0, "%d waits for a completion that lingers", waits)
}

// mayLinger checks that the completion of record i lingers for something.
func (p *play) mayLinger(i int) {
	p.check(!p.prompt && !p.late, "%d lingers, and none may", i)
	writes := func(r *record) bool {
		return r.waits == claiming || r.waits == releasing || r.waits == running || r.waits == encoding
	}
	p.check(p.count(writes) > 0, "%d lingers, and no write is to come", i)
	for j := i + 1; j < p.size; j++ {
		follows := p.follows(j, i) && !p.records[j].ended && !p.isRefused(j)
		p.check(!follows, "%d lingers, and %d waits for it", i, j)
	}
}

// follows reports whether record i waits until j is over.
func (p *play) follows(i, j int) bool {
	return j < i && (p.records[j].lane == p.records[i].lane || p.records[j].key == p.records[i].key)
}

// isReady reports whether record i waits for no other to have its turn.
func (p *play) isReady(i int) bool {
	return !p.records[i].started && !p.records[i].ended && !p.isRefused(i) && p.allBefore(i)
}

// allBefore reports whether those that record i follows are over. One that runs no more is
// not over while it follows one that is not.
func (p *play) allBefore(i int) bool {
	for j := range i {
		r := &p.records[j]
		isOver := r.ended || !r.launched && p.isRefused(j)
		if p.follows(i, j) && !(isOver && p.allBefore(j)) {
			return false
		}
	}
	return true
}

// isRefused reports whether record i has no turn, and never will.
func (p *play) isRefused(i int) bool {
	if p.records[i].started {
		return false
	}
	halts := func(j int) bool {
		r := &p.records[j]
		return r.ended && (r.failing && r.started || r.exits) && p.halts(j, i)
	}
	for j := range i {
		if halts(j) {
			return true
		}
	}
	return p.late
}
