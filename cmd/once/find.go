package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxFound bounds the candidates that are listed if digits name several.
const maxFound = 10

// find reads the record that w names. Without its id it reads the ids of the whole
// table, as there is no index of hashes.
func (t *table) find(ctx context.Context, w wanted, p *progress) (*record, error) {
	if w.id != "" {
		r, err := t.get(ctx, w.id)
		var end *ending
		if err == nil || !errors.As(err, &end) || end.code != codeNoRecord {
			return r, err
		}
		if w.digits == "" {
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
		return nil, endf(codeNoRecord, "no record of operation %s in table %s has this key or a hash that begins with %s", printable(w.operation), t.name, w.digits)
	case len(ids) == 0:
		return nil, endf(codeNoRecord, "no record in table %s has a hash that begins with %s; if it is an idempotency key, give its --operation", t.name, w.digits)
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
func (t *table) idsOf(ctx context.Context, w wanted, p *progress) (ids []string, err error) {
	q := &query{x: expression{names: map[string]string{}, values: map[string]types.AttributeValue{}}, short: true}
	q.filter = []string{"attribute_exists(" + q.x.name(t.attr.Status) + ")"}
	err = t.scan(ctx, q, p, func(r *record) error {
		operation, hash, ok := strings.Cut(r.id, "#")
		sum := sha256.Sum256([]byte(r.id))
		named := ok && strings.HasPrefix(hash, w.digits) && (w.operation == "" || w.operation == operation)
		verbatim := w.operation == "" && strings.HasPrefix(hex.EncodeToString(sum[:]), w.digits)
		if (named || verbatim) && len(ids) < maxFound {
			ids = append(ids, r.id)
		}
		return nil
	})
	return ids, err
}
