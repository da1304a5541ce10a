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
	scope, scoped := k.scope.text()
	switch {
	case k.scope.verbatim != "" && len(k.scope.parts) > 0:
		return Wanted{}, cli.Endf(cli.CodeUsage, "--scope excludes --jwt and the other kinds of scope: it is the whole text")
	case key == "":
		return Wanted{}, cli.Endf(cli.CodeUsage, "KEY is missing: give the id of a record, or an idempotency key with its --operation")
	case k.operation != "":
		id, err := idempotent.Key{Scope: scope, ID: key}.RecordID(k.operation)
		if err != nil {
			return Wanted{}, cli.Misuse(err)
		}
		w := Wanted{ids: []string{id}, hint: k.scope.hint()}
		switch isHash := !scoped && hashDigits.MatchString(key); {
		case isHash && len(key) == allDigits: // or a key that looks like a hash
			w.ids = []string{k.operation + "#" + key, id}
		case isHash:
			w.digits, w.operation = key, k.operation
		}
		return w, nil
	case scoped:
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

// scopeFlags say whose the idempotency key is. The kinds of scope of package
// handlers each have a form, which is part of the record's id.
type scopeFlags struct {
	verbatim string
	parts    []string // in the order of the flags, as that of httpapi.AllOf
}

func (s *scopeFlags) add(f *flag.FlagSet) {
	f.StringVar(&s.verbatim, "scope", "", "the `text` of Key.Scope, as it is; needs --operation. For a scope of package handlers give --jwt, --authorizer, --iam, --cognito, --api-key, --tenant, --scope-func or --request-scope; several are its AllOf, in their order")
	for _, kind := range []struct {
		flag, prefix, usage string
		add                 func(prefix, value string) error
	}{
		{"iam", "iam", "httpapi.IAMUser: the caller's `ARN`", s.part},
		{"cognito", "cognito", "httpapi.CognitoIdentity: the `id` of the identity", s.part},
		{"api-key", "apikey", "httpapi.APIKey: the `id` of the key", s.part},
		{"tenant", "tenant", "httpapi.Tenant: the `id` of the tenant", s.part},
		{"scope-func", "func", "httpapi.ScopeFunc: the `text` that the function returns", s.part},
		{"request-scope", "request", "httpapi.RequestScope: the `text` that the function returns", s.part},
		{"jwt", "claim", "httpapi.JWTClaim: the claim's `name=value`, as sub=ada; for JWTSubject give iss and sub, in this order", s.field},
		{"authorizer", "authorizer", "httpapi.AuthorizerField: the field's `name=value`", s.field},
	} {
		f.Func(kind.flag, kind.usage, func(value string) error { return kind.add(kind.prefix, value) })
	}
}

func (s *scopeFlags) field(prefix, pair string) error {
	name, value, ok := strings.Cut(pair, "=")
	if !ok || name == "" {
		return errors.New("it is not name=value")
	}
	return s.part(prefix+"["+strconv.Quote(name)+"]", value)
}

func (s *scopeFlags) part(prefix, value string) error {
	if value == "" {
		return errors.New("it is empty; is a variable unset?")
	}
	s.parts = append(s.parts, prefix+"="+value)
	return nil
}

// text is the Key.Scope, and whether one was given.
func (s *scopeFlags) text() (string, bool) {
	switch len(s.parts) {
	case 0:
		return s.verbatim, s.verbatim != ""
	case 1:
		return s.parts[0], true
	}
	quoted := make([]string, len(s.parts))
	for i, part := range s.parts {
		quoted[i] = strconv.Quote(part)
	}
	return strings.Join(quoted, "+"), true
}

func (s *scopeFlags) hint() string {
	if s.verbatim == "" {
		return ""
	}
	return "; the scope of an HTTP caller has a kind: give --jwt sub=" + s.verbatim + ", or another of the flags beside --jwt"
}
