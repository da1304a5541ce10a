package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

type KeyFlags struct {
	operation string
	scope     scopeFlags
}

func (k *KeyFlags) Add(f *flag.FlagSet) {
	f.StringVar(&k.operation, "operation", "", "KEY is an idempotency key of this `operation`")
	k.scope.add(f)
}

// Wanted is a record as the operator names it: by its id, as logs and error texts show
// it, or by the first digits of its key's hash.
type Wanted struct {
	ids       []string // to be read first; none if only the digits are known
	digits    string   // "" if one of the ids is the record's
	operation string   // that the digits belong to; "" if that is not known
	hint      string   // if there is no such record
	First     bool     // the first record with these digits will do: 48 bits hardly ever name two
}

// hashDigits are as many as error texts show for a Key.Record, up to all of them.
var hashDigits = regexp.MustCompile(`^[0-9a-f]{12,64}$`)

const allDigits = 2 * sha256.Size

func (k *KeyFlags) Wanted(c *cli.Call) (Wanted, error) {
	args, err := c.Arguments(1)
	if err != nil {
		return Wanted{}, err
	}
	return k.Named(strings.Join(args, ""))
}

// Named returns the record that an argument names, with the flags.
func (k *KeyFlags) Named(key string) (Wanted, error) {
	switch {
	case key == "":
		return Wanted{}, cli.Endf(cli.CodeUsage, "KEY is missing: give the id of a record, or an idempotency key with its --operation")
	case k.operation != "":
		id, err := idempotent.Key{Scope: k.scope.text(), ID: key}.RecordID(k.operation)
		if err != nil {
			return Wanted{}, cli.Misuse(err)
		}
		w := Wanted{ids: []string{id}, hint: k.scope.hint()}
		switch isHash := k.scope == nil && hashDigits.MatchString(key); {
		case isHash && len(key) == allDigits: // or a key that looks like a hash
			w.ids = []string{k.operation + "#" + key, id}
		case isHash:
			w.digits, w.operation = key, k.operation
		}
		return w, nil
	case k.scope != nil:
		return Wanted{}, cli.Endf(cli.CodeUsage, "--scope needs the --operation")
	}
	w := Wanted{ids: []string{key}}
	operation, digits, isID := strings.Cut(key, "#")
	switch {
	case isID && hashDigits.MatchString(digits) && len(digits) < allDigits:
		w.digits, w.operation = digits, operation
	case isID: // and nothing else
	case hashDigits.MatchString(key):
		w.digits = key
	default:
		w.hint = "; if it is an idempotency key, give its --operation"
	}
	return w, nil
}

var errFirst = errors.New("found")

// maxFound bounds the candidates that are listed if digits name several.
const maxFound = 10

// Find reads the record that w names. Without its id it reads the ids of the operation,
// or of the whole table, as there is no index of hashes.
func (t *Store) Find(ctx context.Context, w Wanted, p *Progress) (*record.Record, error) {
	var missing error
	for _, id := range w.ids {
		r, err := t.Read(ctx, id)
		if !IsMissing(err) {
			return r, err
		}
		missing = cmp.Or(missing, err)
	}
	if w.digits == "" {
		return nil, cli.Endf(cli.CodeNoRecord, "%w%s", missing, w.hint)
	}
	ids, err := t.idsOf(ctx, w, p)
	switch {
	case err != nil:
		return nil, err
	case len(ids) == 0 && w.operation != "":
		return nil, cli.Endf(cli.CodeNoRecord, "no record of operation %s in %s has this key or a hash that begins with %s; a Key.Record has no --operation", cli.Printable(w.operation), t.Place, w.digits)
	case len(ids) == 0:
		return nil, cli.Endf(cli.CodeNoRecord, "no record in %s has a hash that begins with %s; if it is an idempotency key, give its --operation", t.Place, w.digits)
	case len(ids) > 1:
		for i, id := range ids {
			ids[i] = cli.Printable(id)
		}
		return nil, cli.Endf(cli.CodeUsage, "several records have a hash that begins with %s; give the id of one: %s", w.digits, strings.Join(ids, ", "))
	}
	return t.Read(ctx, ids[0])
}

// idsOf reads the ids of the records that the digits may name. A record with a
// Key.Record has the hash of its id. PostgreSQL finds a prefix by the primary key.
func (t *Store) idsOf(ctx context.Context, w Wanted, p *Progress) (ids []string, err error) {
	f := driver.Filter{Brief: true}
	if w.operation != "" {
		f.Prefix = w.operation + "#" + w.digits
	}
	err = t.Each(ctx, f, p, func(r *record.Record) error {
		_, hash, _ := strings.Cut(r.ID, "#")
		sum := sha256.Sum256([]byte(r.ID))
		named := strings.HasPrefix(hash, w.digits)
		verbatim := w.operation == "" && strings.HasPrefix(hex.EncodeToString(sum[:]), w.digits)
		// A scan may return a record twice.
		if (named || verbatim) && len(ids) < maxFound && !slices.Contains(ids, r.ID) {
			ids = append(ids, r.ID)
		}
		if w.First && len(ids) > 0 {
			return errFirst
		}
		return nil
	})
	if errors.Is(err, errFirst) {
		err = nil
	}
	return ids, err
}

// scopeFlags are the parts of Key.Scope, in their order. Those of package handlers have a kind,
// which is part of the record's id.
type scopeFlags []string

func (s *scopeFlags) add(f *flag.FlagSet) {
	f.Func("scope", "the `text` of Key.Scope; needs --operation. For a scope of package httpapi give its kind: claim[\"sub\"]=ada (JWTClaim; for JWTSubject first that of iss), "+
		"authorizer[\"field\"]=value, iam=ARN, cognito=id, apikey=id, tenant=id, func=text (ScopeFunc) or request=text; repeatable, for AllOf in its order", func(text string) error {
		if text == "" {
			return errors.New("it is empty; is a variable unset?")
		}
		*s = append(*s, text)
		return nil
	})
}

func (s scopeFlags) text() string {
	if len(s) == 1 {
		return s[0]
	}
	quoted := make([]string, len(s))
	for i, part := range s {
		quoted[i] = strconv.Quote(part)
	}
	return strings.Join(quoted, "+")
}

func (s scopeFlags) hint() string {
	switch {
	case len(s) == 0:
		return "; if its key has a scope, give --scope"
	case len(s) > 1 || strings.Contains(s[0], "="):
		return ""
	}
	return "; the scope of an HTTP caller has a kind, such as --scope 'claim[\"sub\"]=" + s[0] + "'"
}
