package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/lambda-once/once/idempotent/driver"
)

// maxFound bounds the candidates that are listed if digits name several.
const maxFound = 10

// find reads the record that w names. Without its id it reads the ids of the whole
// table, as there is no index of hashes.
func (t *store) find(ctx context.Context, w wanted, p *progress) (*record, error) {
	if w.id != "" {
		r, err := t.get(ctx, w.id)
		switch {
		case !isMissing(err):
			return r, err
		case w.digits == "":
			return nil, endf(codeNoRecord, "%w%s", err, w.hint)
		}
	}
	if w.operation != "" && len(w.digits) == 2*sha256.Size {
		return t.get(ctx, w.operation+"#"+w.digits)
	}
	ids, err := t.idsOf(ctx, w, p)
	switch {
	case err != nil:
		return nil, err
	case len(ids) == 0 && w.operation != "":
		return nil, endf(codeNoRecord, "no record of operation %s in %s has this key or a hash that begins with %s", printable(w.operation), t.place, w.digits)
	case len(ids) == 0:
		return nil, endf(codeNoRecord, "no record in %s has a hash that begins with %s; if it is an idempotency key, give its --operation", t.place, w.digits)
	case len(ids) > 1:
		for i, id := range ids {
			ids[i] = printable(id)
		}
		return nil, endf(codeUsage, "several records have a hash that begins with %s; give the id of one: %s", w.digits, strings.Join(ids, ", "))
	}
	return t.get(ctx, ids[0])
}

// idsOf reads the ids of the records that the digits may name. A record with a
// Key.Record has the hash of its id.
func (t *store) idsOf(ctx context.Context, w wanted, p *progress) (ids []string, err error) {
	err = t.scan(ctx, driver.Filter{Brief: true}, p, func(r *record) error {
		operation, hash, ok := strings.Cut(r.ID, "#")
		sum := sha256.Sum256([]byte(r.ID))
		named := ok && strings.HasPrefix(hash, w.digits) && (w.operation == "" || w.operation == operation)
		verbatim := w.operation == "" && strings.HasPrefix(hex.EncodeToString(sum[:]), w.digits)
		// A scan may return a record twice.
		if (named || verbatim) && len(ids) < maxFound && !slices.Contains(ids, r.ID) {
			ids = append(ids, r.ID)
		}
		return nil
	})
	return ids, err
}
