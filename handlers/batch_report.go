package handlers

import (
	"slices"

	"github.com/lambda-once/once/idempotent"
)

// report gives the ids of the records that did not end well. Where one has no
// id, all of the event has to come back: an empty id is no report.
func (b *batch[D]) report(records []record[D], ends []error) ([]string, error) {
	var ids []string
	for i, err := range ends {
		switch {
		case err == nil:
		case records[i].id == "":
			return nil, b.failed(records, ends, "one of them has no id to report it by")
		case !slices.Contains(ids, records[i].id):
			ids = append(ids, records[i].id)
		}
	}
	return ids, nil
}

// first gives the record at which a stream has to go on, -1 if all are done.
func first(ends []error) int {
	return slices.IndexFunc(ends, func(err error) bool { return err != nil })
}

func anyDone(ends []error) bool { return slices.Contains(ends, nil) }

// identity is what makes two keys one.
type identity struct{ scope, id, record string }

func identityOf(k idempotent.Key) identity { return identity{k.Scope, k.ID, k.Record} }
