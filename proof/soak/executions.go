package soak

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lambda-once/once/proof/soak/internal/job"
)

// group returns the effects by key and slot, the first attempt first.
func (a *auditor) group(effects []job.Effect) map[string]map[string][]job.Effect {
	all := map[string]map[string][]job.Effect{}
	for _, f := range effects {
		if a.entries[f.Key] == nil {
			a.find("effect", f.Key, "of an unknown key")
			continue
		}
		if all[f.Key] == nil {
			all[f.Key] = map[string][]job.Effect{}
		}
		all[f.Key][f.Slot] = append(all[f.Key][f.Slot], f)
	}
	for _, slots := range all {
		for _, list := range slots {
			slices.SortFunc(list, func(a, b job.Effect) int {
				return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), strings.Compare(a.ID, b.ID))
			})
		}
	}
	return all
}

// executions judges the effects of one key.
func (a *auditor) executions(e *entry, slots map[string][]job.Effect) {
	for _, slot := range wanted(e) {
		if len(slots[slot]) == 0 {
			a.find("lost effect", e.hash, "%s: none, and the key is finished", slot)
		}
	}
	for slot, list := range slots {
		switch {
		case e.Decline && (slot == job.Main):
			a.find("effect", e.hash, "%d of work that failed for good before it", len(list))
		case transactional(e.Request) && len(list) > 1:
			a.find("double effect", e.hash, "%s: %d effects of transactions", slot, len(list))
		}
		a.surviving(e, slot, list)
	}
}

// wanted returns the slots that must have an effect when the key is finished.
func wanted(e *entry) (slots []string) {
	switch {
	case e.Kind == job.Steps || e.Kind == job.Saga:
		for n := range e.Steps {
			slots = append(slots, job.Step(n))
			if e.Decline && e.Kind == job.Saga {
				slots = append(slots, job.Undo(n))
			}
		}
		return slots
	case e.Decline:
		return nil
	}
	return []string{job.Main}
}

// surviving requires that one execution counts, and that each of the others has an
// excuse.
func (a *auditor) surviving(e *entry, slot string, list []job.Effect) {
	counts := slices.IndexFunc(list, func(f job.Effect) bool { return f.ID == e.effects[slot] })
	if e.effects != nil && counts < 0 {
		a.find("lost effect", e.hash, "%s: the one of the result is missing", slot)
	}
	if counts < 0 { // it is not known, as batches have no results
		counts = slices.IndexFunc(list, func(f job.Effect) bool { return a.reason(e, f) == "" })
	}
	if counts < 0 {
		counts = len(list) - 1
	}
	without := 0
	for i, f := range list {
		if f.Early {
			a.find("order", e.hash, "%s: ran before its predecessor was finished", slot)
		}
		if i == counts {
			continue
		}
		reason := a.reason(e, f)
		if reason == "" {
			without++
			continue
		}
		a.out.repeated[reason]++
		if reason == killed {
			a.perKill[f.Delivery]++
		}
	}
	if without > 0 {
		a.find("double effect", e.hash, "%s: %d effects, and nothing explains %d of them", slot, len(list), without)
	}
}

const killed = "killed"

// reason returns why an execution may have been repeated, or "".
func (a *auditor) reason(e *entry, f job.Effect) string {
	if a.killed[f.Delivery] != nil {
		return killed
	}
	return a.excuses[excuse{f.Delivery, e.record, f.Attempt}]
}

// kills requires that no kill repeated more executions than its delivery exposed.
func (a *auditor) kills() {
	for delivery, n := range a.perKill {
		k := a.killed[delivery]
		a.out.worst[k.role] = max(a.out.worst[k.role], n)
		if n > k.exposure {
			a.find("exposure", k.role, "a kill repeated %d executions of one delivery, want at most %d", n, k.exposure)
		}
	}
}
