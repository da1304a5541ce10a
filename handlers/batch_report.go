package handlers

import "slices"

// report gives the ids of the records that did not end well. Where one has no
// id, all of the event has to come back: an empty id is no report.
func (v *invocation[D]) report(ends []error) (ids []string, _ error) {
	if err := v.unnamed(ends); err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	for i, err := range ends {
		if id := v.records[i].id; err != nil && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// unnamed fails the invocation if there are records without an id.
func (v *invocation[D]) unnamed(ends []error) error {
	for i := range v.records {
		if v.records[i].id == "" {
			return v.failed(ends, "one of them has no id to report it by")
		}
	}
	return nil
}

// failed fails the invocation for those that did not end well.
func (v *invocation[D]) failed(ends []error, reason string) error {
	e := &BatchError{Reason: reason}
	for i, err := range ends {
		if err != nil {
			e.Failed = append(e.Failed, v.failure(i, err))
		}
	}
	if e.Failed == nil {
		return nil
	}
	return e
}

func (v *invocation[D]) failure(i int, err error) *RecordError {
	return &RecordError{Source: v.source.name, Index: i, ID: v.records[i].id, Err: err}
}

// first gives the record at which a stream has to go on, -1 if all are done.
func first(ends []error) int {
	return slices.IndexFunc(ends, func(err error) bool { return err != nil })
}

func anyDone(ends []error) bool { return slices.Contains(ends, nil) }
