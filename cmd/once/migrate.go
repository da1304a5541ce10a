package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"flag"
	"fmt"
	"hash"
	"io"
	"os"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/idempotent/powertools"
)

const aboutMigrate = `
Says whether a Go function would find the records that functions with Powertools for
AWS Lambda have written. EVENTS is a file of recorded events, one JSON text in each
line as Lambda sent it; - is standard input. A line with a JSON array is refused: it
would be many events with one key. For each event, once computes the key as package
idempotent/powertools does, and reads the record:

  found           the Go function replays or refuses as the other one does
  not found       there is no record, or its retention has ended
  not validated   the record has the hash of a payload, and --validation is not set
  not replayable  the record has a different payload, or no result that Go can return
  no key          the expression finds no key in the line, or it is not JSON

It only reads, and --dry-run is required. It ends with code 2 if EVENTS has no event, or
an array, with code 3 if a record was not found or an event has no key, and with code 8
if one is not validated or not replayable. It needs dynamodb:GetItem.
`

type migrateFlags struct {
	store.Flags
	dialect, prefix, key, hash string
	options                    powertools.Options
	dryRun                     bool
}

func (o *migrateFlags) add(f *flag.FlagSet) {
	o.Flags.Add(f)
	f.BoolVar(&o.dryRun, "dry-run", false, "read only; required")
	f.StringVar(&o.dialect, "dialect", "", "the `name` of the library: typescript or python")
	f.StringVar(&o.prefix, "prefix", "", "the `text` before the # in the ids of the other functions' records")
	f.StringVar(&o.key, "key", "", "their JMESPath `expression` for the key; without it, the whole event")
	f.StringVar(&o.options.Validation, "validation", "", "their JMESPath `expression` for payload validation")
	f.StringVar(&o.hash, "hash", "md5", "the `name` of their hash function: md5, sha1, sha256 or sha512")
	f.BoolVar(&o.options.HashMissing, "hash-missing", false, "TypeScript functions hash an empty key, as they do without throwOnNoIdempotencyKey")
	cli.DurationVar(f, &o.Skew, "clock-skew", time.Second, "Config.ClockSkew of the Go function, a `duration`")
	f.BoolVar(&o.JSON, "json", false, "write JSON")
}

var hashes = map[string]func() hash.Hash{"md5": md5.New, "sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}

func (o *migrateFlags) keyer() (*powertools.Keyer, error) {
	switch {
	case !o.dryRun:
		return nil, cli.Endf(cli.CodeUsage, "set --dry-run: records of Powertools are used as they are, and there is nothing to write")
	case o.Kind() != store.OfDynamoDB:
		return nil, cli.Endf(cli.CodeUsage, "once migrate does not apply to %s: Powertools has no records there", o.Kind())
	}
	d, err := powertools.ParseDialect(o.dialect)
	o.options.Hash = hashes[o.hash]
	switch {
	case err != nil:
		return nil, cli.Endf(cli.CodeUsage, "--dialect: %w", err)
	case o.DynamoDB.Native && d != powertools.TypeScript:
		return nil, cli.Endf(cli.CodeUsage, "--native is for the --dialect typescript, which sets it by itself")
	case o.options.Hash == nil:
		return nil, cli.Endf(cli.CodeUsage, "--hash is none of md5, sha1, sha256 and sha512")
	}
	o.DynamoDB.Native = d == powertools.TypeScript
	keyer, err := powertools.New(d, o.prefix, o.key, &o.options)
	if err != nil {
		return nil, cli.Endf(cli.CodeUsage, "--prefix, --key, --validation, --hash or --hash-missing: %w", err)
	}
	return keyer, nil
}

func migrate(ctx context.Context, c *cli.Call) error {
	var o migrateFlags
	o.add(c.FlagSet)
	args, err := c.Arguments(1)
	if err != nil {
		return err
	}
	keyer, err := o.keyer()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return cli.Endf(cli.CodeUsage, "EVENTS is missing: give a file with one event in each line, or - for standard input")
	}
	events := c.In
	if args[0] != "-" {
		file, err := os.Open(args[0])
		if err != nil {
			return cli.Misuse(err)
		}
		defer file.Close()
		events = file
	}
	t, err := o.Open(ctx, c)
	if err != nil {
		return err
	}
	m := migration{store: t, keys: keyer, skew: o.Skew, counts: map[lookup]int{}}
	out := bufio.NewWriter(c.Out)
	err = m.all(ctx, events, func(l looked) error {
		if o.JSON {
			return cli.WriteJSON(out, l)
		}
		return l.print(out)
	})
	if err == nil && !o.JSON {
		fmt.Fprintln(out, cli.Counts(fmt.Sprint(m.events, " events"), lookups, m.counts))
	}
	if err := errors.Join(err, out.Flush()); err != nil {
		return err
	}
	return m.ending()
}

// Windows writes a byteOrderMark before a text, or before each of several.
var byteOrderMark = []byte("\xef\xbb\xbf")

// all looks up each event, whatever the length of its line.
func (m *migration) all(ctx context.Context, events io.Reader, say func(looked) error) error {
	lines := bufio.NewReader(events)
	for line := 1; ; line++ {
		event, end := lines.ReadBytes('\n')
		event = bytes.TrimSpace(bytes.TrimPrefix(event, byteOrderMark))
		if bytes.HasPrefix(event, []byte("[")) {
			return cli.Endf(cli.CodeUsage, "line %d of EVENTS begins a JSON array: write one event in each line, as jq -c '.[]' does", line)
		}
		if len(event) > 0 {
			l, err := m.look(ctx, event)
			if err != nil {
				return err
			}
			l.Line = line
			m.events++
			m.counts[l.Found]++
			if err := say(l); err != nil {
				return err
			}
		}
		switch {
		case end == io.EOF:
			return nil
		case end != nil:
			return fmt.Errorf("read the events: %w", end)
		}
	}
}
