package dynamo

import (
	"time"

	"github.com/lambda-once/once/dynamo/internal/group"
)

// sharing is a variable of the environment. With it, the stores of all tests send
// each write that can share a request as a shared one.
const sharing = "ONCE_TEST_GROUP"

// shareAll has the store send each write that can share a request as a shared
// one, also if it is the only one, and read the record of each refused write. A
// client that cannot do so is left as it is.
func (s *Store) shareAll(flights int) {
	client, ok := s.client.(GroupClient)
	if !ok {
		return
	}
	s.group = groupingWith(s, client, group.Limits{
		Slots: flights, MaxCalls: maxStatements, MaxSize: maxRequestSize, Linger: longestLinger, Patience: requestPatience, Hold: time.Hour, Share: true,
	})
	s.group.readAll = true
}
