package main

import (
	"context"
	"fmt"
	"time"
)

// scripts are those that a server of Redis has run since it started.
type scripts struct {
	calls int
	took  time.Duration
}

// scripts asks the server, which counts whole microseconds of each.
func (s *servers) scripts() (all scripts, err error) {
	info := s.redis.InfoMap(context.Background(), "commandstats")
	for _, command := range []string{"cmdstat_eval", "cmdstat_evalsha"} {
		text := info.Item("Commandstats", command)
		if text == "" {
			continue // none was sent
		}
		var calls, micros int
		if _, err := fmt.Sscanf(text, "calls=%d,usec=%d,", &calls, &micros); err != nil {
			return scripts{}, fmt.Errorf("%s is %q: %w", command, text, err)
		}
		all.calls += calls
		all.took += time.Duration(micros) * time.Microsecond
	}
	return all, info.Err()
}
