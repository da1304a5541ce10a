package bulk

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/lambda-once/once/cmd/once/internal/cli"
)

type summary struct {
	Run      string         `json:"run"`
	Command  string         `json:"command"`
	Journal  string         `json:"journal,omitempty"`
	DryRun   bool           `json:"dry_run"`
	Selected int            `json:"selected"`
	Done     int            `json:"done"`
	Refused  int            `json:"refused"`
	Unknown  int            `json:"unknown"` // they may have been written
	Left     int            `json:"left"`
	Why      map[string]int `json:"refused_because,omitempty"`
}

func (n *run) tell(err error) error {
	is := map[step]int{}
	for _, i := range n.items {
		is[i.Is]++
	}
	s := &summary{n.head.Run, n.Command, "", n.dryRun, n.Selected, is[done], is[refused], is[begun], is[selected], n.reasons()}
	if n.file != nil {
		s.Journal = n.file.Name()
		err = errors.Join(err, n.file.Close())
	}
	if n.JSON {
		err = errors.Join(err, cli.WriteJSON(n.call.Out, s))
	} else {
		fmt.Fprintf(n.call.Out, "%d records done, %d refused, %d perhaps written, %d left\n", s.Done, s.Refused, s.Unknown, s.Left)
	}
	then := fmt.Sprintf("%s --continue %s", n.Command, s.Journal)
	switch {
	case n.dryRun:
		return err
	case err != nil:
		return fmt.Errorf("%w; %d of %d records are ended; continue with %s", err, s.Selected-s.Left-s.Unknown, s.Selected, then)
	case s.Unknown > 0:
		return cli.Endf(cli.CodeUnacknowledged, "%d records may have been written; look at them, or at all of them with %s", s.Unknown, then)
	case s.Selected > 0 && n.Refused == s.Selected:
		return cli.Endf(cli.CodeRefused, "their states forbid it; nothing was written")
	case s.Left > 0:
		return cli.Endf(cli.CodeFailed, "the function had no time for %d of %d records; continue with %s", s.Left, s.Selected, then)
	case s.Refused > n.Refused:
		return cli.Endf(cli.CodeFailed, "not all are done; the journal says why: %s", s.Journal)
	}
	return nil
}

// beyond is where the details of one record begin, such as the end of its lease.
var beyond = regexp.MustCompile(`; |\. | until `)

func (n *run) reasons() map[string]int {
	all := map[string]int{}
	for _, i := range n.items {
		if i.Is == refused {
			all[beyond.Split(strings.TrimPrefix(i.Why, cli.Printable(i.ID)+": "), 2)[0]]++
		}
	}
	return all
}
