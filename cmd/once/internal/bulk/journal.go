package bulk

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/idempotent/driver"
)

type head struct {
	Journal   string            `json:"journal"`
	Run       string            `json:"run"`
	At        time.Time         `json:"at"`
	Command   string            `json:"command"`
	Store     string            `json:"store"`
	Selection map[string]string `json:"selection"`
	Action    json.RawMessage   `json:"action"`
	By        string            `json:"by,omitempty"`
	Reason    string            `json:"reason,omitempty"`
	Skew      time.Duration     `json:"clock_skew"`
	Selected  int               `json:"selected"`
	Refused   int               `json:"refused"` // of the selected ones, before the first write
}

const version = "once bulk 2"

type step string

const (
	selected step = "selected"
	begun    step = "begun" // it may be written
	done     step = "done"
	refused  step = "refused" // by its state, or as it has changed: it was left
)

// line is a further line of a journal. The one without an id ends the selection.
type line struct {
	At  time.Time `json:"at"`
	ID  string    `json:"id,omitempty"`
	Is  step      `json:"is"`
	Why string    `json:"why,omitempty"` // it was left, or is not known
	// As is the digest of the record as it was selected, and Then that after its write,
	// unless Token, its new owner, tells the write.
	As    string `json:"as,omitempty"`
	Then  string `json:"then,omitempty"`
	Token string `json:"token,omitempty"`
	// State, Attempt and Owner are as they were read before the write.
	State   record.State `json:"state,omitempty"`
	Attempt int64        `json:"attempt,omitempty"`
	Owner   string       `json:"owner,omitempty"`
}

// item is a selected record, with its last line.
type item struct {
	line
	read   *record.Record // as it was begun
	change driver.Change
}

func (i *item) end(is step, why error) {
	*i = item{line: line{At: time.Now().UTC(), ID: i.ID, Is: is, As: i.As, Then: i.Then, Token: i.Token}}
	if why != nil {
		i.Why = why.Error()
	}
}

type journal struct {
	head
	file  *os.File
	items []*item
}

func (j *journal) create(name string) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return cli.Misuse(err)
	}
	if err := lock(file); err != nil {
		return err
	}
	j.file = file
	w := bufio.NewWriter(file)
	err = cli.WriteJSON(w, j.head)
	for _, i := range j.items {
		err = errors.Join(err, cli.WriteJSON(w, i.line))
	}
	return errors.Join(err, cli.WriteJSON(w, line{At: j.At, Is: selected}), w.Flush(), file.Sync())
}

// reopen reads a journal. If a crash has torn its last line, the line is removed: the record
// itself shows whether it was written.
func reopen(name string) (*journal, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, cli.Misuse(err)
	}
	if err := lock(file); err != nil {
		return nil, err
	}
	j := &journal{file: file}
	all, whole, size, byID := bufio.NewReader(file), false, int64(0), map[string]*item{}
	for n := 1; ; n++ {
		text, err := all.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		size += int64(len(text))
		var l line
		into := any(&l)
		if n == 1 {
			into = &j.head
		}
		if err := json.Unmarshal(text, into); err != nil || j.Journal != version {
			return nil, cli.Endf(cli.CodeUsage, "line %d of %s is none of a journal that this version of once writes", n, name)
		}
		switch i := byID[l.ID]; {
		case n == 1:
		case l.ID == "":
			whole = true
		case i == nil:
			i = &item{line: l}
			byID[l.ID], j.items = i, append(j.items, i)
		default:
			l.As = i.As
			i.line = l
		}
	}
	if !whole {
		return nil, cli.Endf(cli.CodeUsage, "%s does not contain its whole selection, so that its run has written nothing: begin again, with a new journal", name)
	}
	return j, file.Truncate(size)
}

func (j *journal) note(i *item) error {
	l := i.line
	l.As = ""
	return cli.WriteJSON(j.file, l)
}

func (j *journal) left() (all []*item) {
	for _, i := range j.items {
		if i.Is == selected || i.Is == begun {
			all = append(all, i)
		}
	}
	return all
}
