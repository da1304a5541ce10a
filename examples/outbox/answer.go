package outbox

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// answer collects the results of a call. The ID of an entry is its index.
type answer []error

func newAnswer(size int) answer {
	a := make(answer, size)
	for i := range a {
		a[i] = errNoAnswer
	}
	return a
}

func (a answer) succeeded(id *string) { a.set(id, nil) }

func (a answer) refused(id, code, message *string, senderFault bool) {
	a.set(id, &EntryError{Code: aws.ToString(code), Message: aws.ToString(message), SenderFault: senderFault})
}

func (a answer) set(id *string, err error) {
	if i, wrong := strconv.Atoi(aws.ToString(id)); wrong == nil && i >= 0 && i < len(a) {
		a[i] = err
	}
}
