package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lambda-once/once/idempotent/driver"
)

// player plays moves on a store and on the model at once.
type player struct {
	ctx   context.Context
	store driver.Store
	// every requests a Get after every write, not only after the last one.
	every bool
	// tally counts per operation how often its condition held and failed.
	tally [ops][2]int
}

// play makes one move and returns the next world. It does not change w.
func (p *player) play(w world, m move) (world, error) {
	switch m.kind {
	case pass:
		w.now = w.now.Add(m.by)
		return w, w.oneOwner()
	case arrive:
		r := w.late[m.index]
		w.late = slices.Concat(w.late[:m.index], w.late[m.index+1:])
		_, err := p.apply(&w, r)
		return w, err
	}
	r := w.request(m.who, m.op)
	if m.fate == delayed || m.fate == echoed {
		w.late = append(slices.Clip(w.late), r)
	}
	if m.fate == delayed {
		return w, nil
	}
	ok, err := p.apply(&w, r)
	if m.fate == repeated && err == nil {
		first := w.item
		ok, err = p.apply(&w, r)
		if d := diff(first, w.item); err == nil && d != "" {
			err = fmt.Errorf("the second copy has changed the record: %s", d)
		}
	}
	if err == nil && m.fate != lost {
		w.learn(r, ok)
	}
	return w, errors.Join(err, w.oneOwner())
}

// apply sends one request and compares the result and the record with the model.
func (p *player) apply(w *world, r write) (bool, error) {
	before := w.item
	after, ok, err := r.send(p.ctx, p.store, before)
	if err != nil {
		return ok, err
	}
	w.item = after
	if ok {
		p.tally[r.op][0]++
	} else {
		p.tally[r.op][1]++
	}
	if p.every {
		err = p.compare(w)
	}
	return ok, errors.Join(err, lawful(before, after, r))
}

func (p *player) compare(w *world) error {
	stored, err := p.store.Get(p.ctx, w.id)
	if err != nil {
		return fmt.Errorf("read the record: %w", err)
	}
	if d := diff(w.item, stored); d != "" {
		return fmt.Errorf("the stored record: %s", d)
	}
	return nil
}
