package form

import (
	"crypto/rand"
	"encoding/json"
)

const (
	// budgetAbove is the size of all steps and the request, in bytes, above which a record has
	// a compensation budget. DynamoDB's limit is 400 KB, so smaller records
	// have the room anyway.
	budgetAbove = 256 << 10
	// noteBytes is the most that a store adds to a note and its name.
	noteBytes = 16
)

// Budget returns the compensation budget of a record with these steps, and a request of so
// many bytes, in bytes: failureNote for the failure note, and a note for each step that can be
// undone. It reports whether the record is large enough to need a budget.
func Budget(steps map[string][]byte, request, failureNote int) (size int, large bool) {
	total, size := request, failureNote
	for name, data := range steps {
		total += len(name) + len(data)
		if IsUndoable(data) {
			// The step's note and the failure note both contain the name.
			size += len(UndoStep) + len(name) + noteBytes + len(quoted(name))
		}
	}
	return size, total > budgetAbove
}

func quoted(name string) []byte {
	text, err := json.Marshal(name)
	if err != nil { // never, for a string
		panic(err)
	}
	return append(text, ',')
}

// FillBudget returns n bytes for BudgetStep. They are random, so that no store
// compresses them.
func FillBudget(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.Read(data) // never fails
	data[0] = BudgetTag
	return data
}
