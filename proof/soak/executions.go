package soak

import (
	"slices"

	"github.com/lambda-once/once/proof/soak/worker"
)

// executions judges the effects of one key.
func (a *auditor) executions(e *entry, effects []worker.Effect) {
	slots := map[string][]worker.Effect{}
	for _, f := range effects {
		slots[f.Slot] = append(slots[f.Slot], f)
	}
	for _, slot := range wanted(e) {
		if len(slots[slot]) == 0 {
			a.found.add("lost effect", e.hash, "%s: none, and the key is finished", slot)
		}
	}
	for slot, list := range slots {
		switch {
		case e.Decline && slot == worker.Main:
			a.found.add("effect", e.hash, "%d of work that failed for good before it", len(list))
		case e.Account > 0 && len(list) > 1:
			a.found.add("double effect", e.hash, "%s: %d effects of transactions", slot, len(list))
		}
		a.surviving(e, slot, list)
	}
}

// wanted returns the slots that must have an effect when the key is finished.
func wanted(e *entry) (slots []string) {
	switch {
	case e.Kind == worker.Steps || e.Kind == worker.Saga:
		for n := range e.Steps {
			slots = append(slots, worker.Step(n))
			if e.Decline && e.Kind == worker.Saga {
				slots = append(slots, worker.Undo(n))
			}
		}
		return slots
	case e.Decline:
		return nil
	}
	return []string{worker.Main}
}

// surviving requires that one execution counts, and that each of the others has an
// excuse.
func (a *auditor) surviving(e *entry, slot string, list []worker.Effect) {
	counts := slices.IndexFunc(list, func(f worker.Effect) bool { return f.ID == e.effects[slot] })
	if e.effects != nil && counts < 0 {
		a.found.add("lost effect", e.hash, "%s: the one of the result is missing", slot)
	}
	if counts < 0 { // it is not known, as batches have no results
		counts = slices.IndexFunc(list, func(f worker.Effect) bool { return a.reason(e, f) == "" })
	}
	if counts < 0 {
		counts = len(list) - 1
	}
	without := 0
	for i, f := range list {
		if f.Early {
			a.found.add("order", e.hash, "%s: ran before its predecessor was finished", slot)
		}
		if i == counts {
			continue
		}
		reason := a.reason(e, f)
		if reason == "" {
			without++
			continue
		}
		a.repeated[reason]++
		if reason == killed {
			a.perKill[f.Delivery]++
		}
	}
	if without > 0 {
		a.found.add("double effect", e.hash, "%s: %d effects, and nothing explains %d of them", slot, len(list), without)
	}
}

const killed = "killed"

// reason returns why an execution may have been repeated, or "".
func (a *auditor) reason(e *entry, f worker.Effect) string {
	if a.killed[f.Delivery] != nil {
		return killed
	}
	return a.excuses[excuse{f.Delivery, e.record, f.Attempt}]
}

// kills requires that no kill repeated more executions than its delivery exposed.
func (a *auditor) kills() {
	for delivery, n := range a.perKill {
		k := a.killed[delivery]
		a.worst[k.name] = max(a.worst[k.name], n)
		if n > k.exposure {
			a.found.add("exposure", k.name, "a kill repeated %d executions of one delivery, want at most %d", n, k.exposure)
		}
	}
}
