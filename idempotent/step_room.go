package idempotent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

const (
	// roomAbove is the size of all steps, in bytes, from which on room is
	// taken. DynamoDB's limit is 400 KB, so smaller records have it anyway.
	roomAbove = 256 << 10
	// The room for the failure note itself, sealed or not: with its whole
	// message; with a part of it, where a result has no other room; and with
	// none, after a step whose result has no room at all.
	comfortableRoom = 6 << 10
	leastRoom       = 2 << 10
	shortestRoom    = 512
	// noteBytes is what a store adds to a note and its name, at most.
	noteBytes = 16
)

// writeWithRoom writes steps, with the compensation budget beside them: the room
// for the failure note, and for one note for each step that can be undone. Those
// of its writes that set the budget wait for each other, as steps may run at
// once: one that lands late must not take back what a later one has added.
func (s *steps) writeWithRoom(ctx context.Context, values map[string][]byte, failureNote int) error {
	s.mu.Lock()
	before := s.know(values)
	_, large := s.room(failureNote)
	handler := s.handler
	s.mu.Unlock()
	if !large {
		return s.deliver(ctx, values, before)
	}
	select {
	case s.roomLock <- struct{}{}:
		defer func() { <-s.roomLock }()
	case <-handler.Done(): // the write has one try
	}
	s.mu.Lock()
	room, _ := s.room(failureNote)
	values[protocol.RoomStep] = noise(room)
	maps.Copy(before, s.know(map[string][]byte{protocol.RoomStep: values[protocol.RoomStep]}))
	s.mu.Unlock()
	return s.deliver(ctx, values, before)
}

// room computes the compensation budget of what the call knows, and reports
// whether that is large enough to need one. s.mu is held.
func (s *steps) room(failureNote int) (room int, large bool) {
	total, room := 0, failureNote
	for name, data := range s.known {
		total += len(name) + len(data)
		if protocol.IsUndoable(data) {
			// The name stands in the note of the step and in that of the failure.
			room += len(protocol.UndoStep) + len(name) + noteBytes + len(quoted(name))
		}
	}
	return room, total > roomAbove
}

func quoted(name string) []byte {
	text, err := json.Marshal(name)
	if err != nil { // of a string, never
		panic(err)
	}
	return append(text, ',')
}

// noise does not compress.
func noise(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.Read(data) // never fails
	data[0] = protocol.RoomTag
	return data
}

// writeFailure stores the failure note, in the room that was kept for it.
func (s *steps) writeFailure(ctx context.Context, f sagaFailure) error {
	if !s.keeps {
		return nil
	}
	err := s.tryFailure(ctx, f)
	for _, limit := range []int{1 << 10, 256, 0} {
		if !errors.Is(err, driver.ErrTooLarge) {
			break
		}
		// Without the note nothing would be undone; a short one says enough.
		f.Message, f.Code = truncate(f.Message, limit), truncate(f.Code, limit)
		f.Type = truncate(f.Type, 64)
		err = s.tryFailure(ctx, f)
	}
	return s.unsettledBy(err)
}

func (s *steps) tryFailure(ctx context.Context, f sagaFailure) error {
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	limited, cancel := s.keeping(ctx)
	defer cancel()
	e, err := s.x.encodeStored(limited, s.place(protocol.FailureStep), data)
	if e.Unavailable != "" {
		// It is no work that was done, and of no use without what it says.
		return &unreadable{reason: "what is to be undone: " + e.Unavailable, err: bare(err)}
	}
	if err != nil {
		s.suppress(err)
	}
	note := map[string][]byte{protocol.FailureStep: protocol.EncodeStep(e)}
	s.mu.Lock()
	if len(s.known[protocol.RoomStep]) > 0 {
		note[protocol.RoomStep] = []byte{protocol.RoomTag}
	}
	s.mu.Unlock()
	return s.write(ctx, note)
}

// writeUndone notes that a step is undone.
func (s *steps) writeUndone(ctx context.Context, full string) error {
	note := map[string][]byte{full: protocol.EncodeStep(protocol.Stored{})}
	err := s.write(ctx, note)
	if errors.Is(err, driver.ErrTooLarge) {
		// Nothing needs the result of the step any more.
		note[strings.TrimPrefix(full, protocol.UndoStep)] = protocol.Undoable(protocol.EncodeStep(protocol.Stored{Unavailable: "it is undone"}))
		err = s.write(ctx, note)
	}
	return err
}
