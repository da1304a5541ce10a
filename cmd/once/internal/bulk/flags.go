// Package bulk applies a command to all records of a selection, with a journal by which a run
// that ended early is continued.
package bulk

import (
	"flag"
	"os"
	"slices"
	"strings"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
)

// About is for the help of each command that has a run on many records.
const About = `
It first reads the whole table, counts the records that the flags select, shows some,
and says which are left as they are: no flag overrides an objection. --dry-run ends
there.

Each record is then read again, and written only if it is as it was counted. The
journal, a new file of JSON lines, names each record before and after its write. A run
that was interrupted or killed goes on with --continue, and writes none twice. On
Windows, do not continue one journal twice at the same time.

A journal contains ids, --by, --reason and the data of a resolution.
`

type Flags struct {
	store.ScanFlags
	record.Selection
	*record.Statement
	dryRun              bool
	journal, continuing string
	rate                int
}

var selecting = []string{"attempt", "error", "older-than", "operation", "prefix", "since", "state", "until"}

// Meant reports whether arguments are for a run on many records. --operation alone is not,
// nor is a missing KEY: its variable may be unset.
func Meant(args []string) bool {
	only := append([]string{"continue", "dry-run", "journal"}, selecting...)
	return slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		return strings.HasPrefix(arg, "-") && name != "operation" && slices.Contains(only, name)
	})
}

func (o *Flags) add(f *flag.FlagSet) {
	o.Flags.Add(f)
	o.AddView(f)
	o.AddSelection(f)
	o.Selection.Add(f)
	f.BoolVar(&o.dryRun, "dry-run", false, "count the records and show some, and write nothing")
	f.StringVar(&o.journal, "journal", "", "write the journal to this new `file`")
	f.StringVar(&o.continuing, "continue", "", "continue the run of this journal, a `file`, with its selection and action")
	f.IntVar(&o.rate, "rate", 50, "write so many records a second, a `number`; 0: no limit")
	o.Statement.Add(f)
	f.BoolVar(&o.Quiet, "quiet", false, "print no progress")
	f.BoolVar(&o.Yes, "yes", false, "do not ask")
}

func (o *Flags) check(c *cli.Call) (map[string]string, error) {
	given, mistake := map[string]string{}, error(nil)
	ofRun := flag.NewFlagSet("", flag.ContinueOnError)
	new(store.Flags).Add(ofRun)
	c.Visit(func(g *flag.Flag) {
		value := g.Value.String()
		if slices.Contains(selecting, g.Name) {
			given[g.Name] = value
		}
		switch unset := value == g.DefValue; {
		case o.continuing != "" && ofRun.Lookup(g.Name) == nil && !slices.Contains([]string{"continue", "json", "quiet", "rate", "yes"}, g.Name):
			mistake = cli.Endf(cli.CodeUsage, "--continue takes selection and action from its journal: leave out --%s", g.Name)
		case unset && (slices.Contains(selecting, g.Name) || slices.Contains([]string{"by", "continue", "journal", "reason"}, g.Name)):
			mistake = cli.Endf(cli.CodeUsage, "--%s is empty; is a variable unset?", g.Name)
		}
	})
	switch {
	case mistake != nil:
		return nil, mistake
	case o.rate < 0:
		return nil, cli.Endf(cli.CodeUsage, "--rate is negative")
	case o.continuing != "":
	case len(given) == 0:
		return nil, cli.Endf(cli.CodeUsage, "select records, as with --state, --error or --operation")
	case !o.dryRun && o.journal == "":
		return nil, cli.Endf(cli.CodeUsage, "set --journal to a new file, or --dry-run")
	case isThere(o.journal): // before a long count
		return nil, cli.Endf(cli.CodeUsage, "the journal %s exists: name a new one, or set --continue to go on with its run", o.journal)
	}
	return given, nil
}

func isThere(name string) bool {
	_, err := os.Lstat(name)
	return name != "" && err == nil
}
