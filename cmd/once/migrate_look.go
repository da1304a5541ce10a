package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/powertools"
	"github.com/lambda-once/once/idempotent/seal"
)

type lookup string

const (
	foundIt       lookup = "found"
	notFound      lookup = "not found"
	notValidated  lookup = "not validated"
	notReplayable lookup = "not replayable"
	noKey         lookup = "no key"
)

var lookups = []lookup{foundIt, notFound, notValidated, notReplayable, noKey}

// looked is an event that was looked up. It never contains the event.
type looked struct {
	Line   int          `json:"line"`
	Found  lookup       `json:"found"`
	Record string       `json:"record,omitempty"`
	State  record.State `json:"state,omitempty"`
	Why    string       `json:"why,omitempty"`
}

func (l looked) print(w io.Writer) error {
	why := cmp.Or(l.Why, string(l.State))
	_, err := fmt.Fprintf(w, "%6d  %-16s  %s\n", l.Line, l.Found, strings.TrimSpace(cli.Printable(l.Record)+"  "+why))
	return err
}

type migration struct {
	store  *store.Store
	keys   *powertools.Keyer
	skew   time.Duration
	events int
	counts map[lookup]int
}

// look computes the key of an event, and reads its record. The error is one of
// DynamoDB.
func (m *migration) look(ctx context.Context, event []byte) (looked, error) {
	key, err := m.keys.Key(event)
	switch {
	case errors.Is(err, idempotent.ErrMissingKey):
		return looked{Found: noKey, Why: "the Go function refuses it: idempotent: missing key"}, nil
	case err != nil:
		return looked{Found: noKey, Why: err.Error()}, nil
	}
	r, err := m.store.Read(ctx, key.Record)
	switch {
	case store.IsMissing(err):
		return looked{Record: key.Record, Found: notFound, Why: "there is no record"}, nil
	case err != nil:
		return looked{}, err
	}
	l := looked{Record: key.Record, State: r.StateAt(m.store.Now().Add(-m.skew))}
	l.Found, l.Why = judge(r, l.State, key.Fingerprint)
	return l, nil
}

// judge returns how a call with this fingerprint treats the record.
func judge(r *record.Record, at record.State, fingerprint string) (lookup, string) {
	switch {
	case at == record.Over:
		return notFound, "its retention has ended"
	case r.Unusable(at, fingerprint) != "":
		return notReplayable, r.Unusable(at, fingerprint)
	case at == record.Completed || at == record.Failed:
		if why := unreplayable(r); why != "" {
			return notReplayable, why
		}
	}
	switch {
	case fingerprint != "" && r.Fingerprint == "":
		return foundIt, string(at) + ", without a validation: the Go function does not compare the payload"
	case fingerprint == "" && r.Fingerprint != "":
		return notValidated, "the Go function does not compare the payload: set --validation"
	}
	return foundIt, ""
}

func unreplayable(r *record.Record) string {
	key, sealed := seal.KeyID(r.Data)
	switch {
	case sealed:
		return fmt.Sprintf("its result is sealed with key %q", key)
	case r.Payload != "":
		return "its result is in a payload store"
	case r.Unavailable != "":
		return "it was completed without its result: " + r.Unavailable
	case r.Data == nil:
		return "it has no result: the function returned nothing; only idempotent.WrapEffect replays that"
	case !json.Valid(r.Data):
		return "its result is not JSON: TypeScript stores a string as it is, and its --dialect reads it"
	}
	return ""
}

// ending returns the error of the worst lookup. A missing --validation comes first:
// the rest counts once the settings are right.
func (m *migration) ending() error {
	switch n := m.counts; {
	case m.events == 0:
		return cli.Endf(cli.CodeUsage, "EVENTS has no event, and no record was looked up: record the events of the other functions first")
	case n[notValidated] > 0:
		return cli.Endf(cli.CodeNotRight, "%d of the records have a validation: set --validation to the expression of the other functions", n[notValidated])
	case n[notReplayable] > 0:
		return cli.Endf(cli.CodeNotRight, "the Go function could not replay %d of the records", n[notReplayable])
	case n[notFound]+n[noKey] > 0:
		return cli.Endf(cli.CodeNoRecord, "the Go function would find no record for %d of the events", n[notFound]+n[noKey])
	}
	return nil
}
