package dynamo

import (
	"errors"
	"strings"
)

var errItemSize = errors.New("an item holds at most 400 KB")

// tooLarge recognises DynamoDB's own refusal of an item for its size, which
// has no code of its own: the estimate does not know the attributes that
// other programs may have added.
func tooLarge(err error) bool {
	code, message := apiError(err)
	return code == "ValidationException" && tooLargeMessage(message)
}

func tooLargeMessage(message string) bool {
	return strings.Contains(message, "exceeded the maximum allowed size")
}
