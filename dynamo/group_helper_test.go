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
func (s *Store) shareAll(slots int, change ...func(*group.Limits)) {
	if _, ok := s.client.(GroupClient); ok {
		s.limit(func(l *group.Limits) { l.Slots, l.Hold, l.Share = slots, time.Hour, true }, change...)
		s.group.readAll = true
	}
}

// limit has the store share requests within changed limits.
func (s *Store) limit(first func(*group.Limits), change ...func(*group.Limits)) {
	limits := groupLimits(1)
	for _, c := range append([]func(*group.Limits){first}, change...) {
		c(&limits)
	}
	s.group = newGrouping(s, s.client.(GroupClient), limits)
}

// patient has a request wait for all its calls, however slow the machine is.
func patient(l *group.Limits) { l.Linger, l.Patience, l.Hold = time.Minute, time.Minute, time.Hour }
