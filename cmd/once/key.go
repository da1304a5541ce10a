package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"regexp"
	"slices"
	"strings"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// keyFlags name a record.
type keyFlags struct {
	operation, record string
	scope             scopeFlags
}

func (k *keyFlags) add(f *flag.FlagSet) {
	f.StringVar(&k.operation, "operation", "", "KEY is an idempotency key of this `operation`")
	f.StringVar(&k.record, "record", "", "the `id` of the record, instead of KEY")
	k.scope.add(f)
}

// wanted is a record as the operator names it: by its id, or by the first
// digits of its key's hash, as error texts show them.
type wanted struct {
	id        string // to be tried first; "" if only the digits are known
	digits    string // "" if the id is the whole name
	operation string // that the digits belong to; "" if that is not known
	hint      string // if there is no such record
}

// hashDigits are as many as error texts show, up to all of them.
var hashDigits = regexp.MustCompile(`^[0-9a-f]{12,64}$`)

// wanted parses the flags.
func (k *keyFlags) wanted(c *call) (wanted, error) {
	args, err := c.parse(1)
	if err != nil {
		return wanted{}, err
	}
	key := ""
	if len(args) > 0 {
		key = args[0]
	}
	scope, scoped := k.scope.text()
	switch {
	case k.record != "" && (key != "" || k.operation != "" || scoped):
		return wanted{}, endf(codeUsage, "--record excludes KEY, --operation and --scope")
	case k.record != "":
		return wanted{id: k.record}, nil
	case k.scope.verbatim != "" && len(k.scope.parts) > 0:
		return wanted{}, endf(codeUsage, "--scope excludes --jwt and the other kinds of scope: it is the whole text")
	case key == "":
		return wanted{}, endf(codeUsage, "KEY is missing: give the id of a record, or an idempotency key with its --operation")
	case k.operation != "":
		id, err := idempotent.Key{Scope: scope, ID: key}.RecordID(k.operation)
		if err != nil {
			return wanted{}, &ending{codeUsage, err}
		}
		w := wanted{id: id, hint: k.scope.hint()}
		if !scoped && hashDigits.MatchString(key) {
			w.digits, w.operation = key, k.operation
		}
		return w, nil
	case scoped:
		return wanted{}, endf(codeUsage, "--scope needs the --operation")
	case hashDigits.MatchString(key):
		return wanted{digits: key}, nil
	}
	operation, digits, isID := strings.Cut(key, "#")
	switch {
	case isID && hashDigits.MatchString(digits):
		return wanted{id: key, digits: digits, operation: operation}, nil
	case isID:
		return wanted{id: key}, nil
	default:
		return wanted{}, endf(codeUsage, "KEY is no id of a record (it has no '#') and not the 12 digits that errors show: give the --operation whose idempotency key it is, or --record if it is an id")
	}
}

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
