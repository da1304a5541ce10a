package record

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/driver"
)

type OperationStats struct {
	Operation  string         `json:"operation"`
	InProgress int            `json:"in_progress"`
	Stuck      int            `json:"stuck"` // of those in progress
	Completed  int            `json:"completed"`
	Failed     int            `json:"failed"`
	Other      int            `json:"other"`
	Again      int64          `json:"again"`
	Duplicates *int           `json:"duplicates"` // null: the table does not know
	Oldest     *oldest        `json:"oldest_in_progress"`
	Errors     map[string]int `json:"errors,omitempty"`
	Bytes      struct {
		Total   int `json:"total"`
		Average int `json:"average"`
		Largest int `json:"largest"`
	} `json:"bytes"`
	// Of the hour before the records were read.
	Finished, FailedOfThese int `json:"-"`
}

type oldest struct {
	Record string    `json:"record"`
	Lease  time.Time `json:"lease"`
}

// maxOperations bounds the memory if ids are chosen to have many different first
// parts.
const (
	maxOperations = 1000
	otherwise     = "(others)"
)

type Counts map[string]*OperationStats

func (c Counts) Add(r *Record, before time.Time) {
	name := r.Operation()
	if c[name] == nil && len(c) >= maxOperations {
		name = otherwise
	}
	s := c[name]
	if s == nil {
		s = &OperationStats{Operation: strings.Clone(name)}
		c[s.Operation] = s
	}
	switch r.Status {
	case driver.InProgress:
		s.InProgress++
		if !r.Lease.IsZero() && !r.Released() && (s.Oldest == nil || r.Lease.Before(s.Oldest.Lease)) {
			s.Oldest = &oldest{Record: r.ID, Lease: r.Lease.UTC()}
		}
		if r.StateAt(before) != Running {
			s.Stuck++
		}
	case driver.Completed:
		s.Completed++
	case driver.Failed:
		s.Failed++
		s.fail(r.failure().Type)
	default:
		s.Other++
	}
	if at := r.end().At; !at.IsZero() && before.Sub(at) < time.Hour {
		s.Finished++
		if r.Status == driver.Failed {
			s.FailedOfThese++
		}
	}
	s.Again += max(r.Attempt, 1) - 1
	s.Bytes.Total += r.Size
	s.Bytes.Largest = max(s.Bytes.Largest, r.Size)
}

// maxErrors bounds the memory if a function makes the names of its errors.
const maxErrors = 100

func (s *OperationStats) fail(cause string) {
	if cause = cmp.Or(cause, "(not known)"); s.Errors[cause] == 0 && len(s.Errors) >= maxErrors {
		cause = otherwise
	}
	if s.Errors == nil {
		s.Errors = map[string]int{}
	}
	s.Errors[strings.Clone(cause)]++
}

func (s *OperationStats) Causes() string {
	var all []string
	for _, cause := range slices.SortedFunc(maps.Keys(s.Errors), func(a, b string) int {
		return cmp.Or(s.Errors[b]-s.Errors[a], strings.Compare(a, b))
	}) {
		all = append(all, fmt.Sprint(cli.Printable(cause), " ", s.Errors[cause]))
	}
	const shown = 3
	if more := len(all) - shown; more > 0 {
		all = append(all[:shown], fmt.Sprint(more, " more"))
	}
	return cmp.Or(strings.Join(all, ", "), "-")
}

func (c Counts) Sorted() []*OperationStats {
	all := slices.SortedFunc(maps.Values(c), func(a, b *OperationStats) int { return strings.Compare(a.Operation, b.Operation) })
	for _, s := range all {
		s.Bytes.Average = s.Bytes.Total / (s.InProgress + s.Completed + s.Failed + s.Other)
	}
	return all
}

func (s *OperationStats) Live() int { return s.InProgress - s.Stuck }

func (s *OperationStats) Lease() time.Time {
	if s.Oldest == nil {
		return time.Time{}
	}
	return s.Oldest.Lease
}

func (s *OperationStats) Share() string {
	if s.Failed == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f%%", 100*float64(s.Failed)/float64(s.Failed+s.Completed))
}
