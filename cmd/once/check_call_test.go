package main

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/checks"
	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/checked"
	"github.com/lambda-once/once/internal/wire"
)

const called = "first call"

func TestFirstCallLeavesNothing(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.claim("check#mine", time.Hour)
		before := s.all()
		for _, operation := range []string{"check", "pay"} {
			got := s.found(0, s.with("check", "--operation", operation)...)
			check.Equal(s, got[called].Verdict, checks.Fine, got)
			check.Equal(s, s.all(), before)
		}
		_, made := s.found(0, s.with("check", "--read-only")...)[called]
		check.False(s, made, "a check that reads only makes a call")
	})
}

// A check that is killed leaves a record that expires, and that nobody is shown.
func TestKilledCheckLeavesARecordThatIsPassedOver(t *testing.T) {
	onStores(t, func(s *storeScene) {
		d := s.held("check", func(d *dialog) { check.Must(s, d.cmd.Process.Kill()) })
		_ = d.cmd.Wait()
		left := s.stored()
		check.Equal(s, len(left), 1, left)
		for id, r := range left {
			check.True(s, checked.Is(id), id)
			check.True(s, r.Expires.Before(time.Now().Add(time.Hour)), r.Expires)
		}
		check.Equal(s, s.ok(s.with("list")...), "")
		check.Lacks(s, s.ok(s.with("stats", "--json")...), `"operation"`)
		check.Equal(s, s.found(0, s.with("check")...)[called].Verdict, checks.Fine)
	})
}

func TestInterruptedCheckDeletesItsRecord(t *testing.T) {
	onStores(t, func(s *storeScene) {
		d := s.held("check", func(d *dialog) {
			check.Must(s, d.cmd.Process.Signal(os.Interrupt))
			s.hear(d, "interrupted; deleting")
		})
		r := s.ended(d)
		check.Equal(s, r.code, cli.CodeFailed, r)
		check.True(s, strings.HasSuffix(r.err, "once: interrupted\n"), r.err)
		check.Lacks(s, r.out, called)
		check.Lacks(s, s.all(), checked.Name)
	})
}

// held starts a command, and does something before the first request after its claim is sent.
func (s *storeScene) held(command string, do func(*dialog)) *dialog {
	s.Helper()
	reached, done := make(chan struct{}), make(chan struct{})
	var once sync.Once
	flags, _ := s.behind(func(r *wire.Request) (*wire.Response, error) {
		if bytes.Contains(r.Body, []byte(checked.Name)) && strings.Contains(s.all(), checked.Name) {
			once.Do(func() { close(reached) })
			<-done
		}
		return r.Send()
	})
	d := s.start(append([]string{command, "--timeout", "10m"}, flags...)...)
	<-reached
	do(d)
	close(done)
	return d
}

// A role that is confined to its operations makes the call on keys of these.
func TestFirstCallIsOfTheOperation(t *testing.T) {
	s := newScene(t)
	keys := map[string]bool{}
	endpoint := s.wired(func(r *wire.Request) (*wire.Response, error) {
		if i := bytes.Index(r.Body, []byte(checked.Name)); i >= 0 {
			keys[string(r.Body[bytes.LastIndexByte(r.Body[:i], '"')+1:i])] = true
		}
		return r.Send()
	})
	s.found(0, "check", "--operation", "pay", "--endpoint", endpoint)
	check.Deep(t, keys, map[string]bool{"pay#": true})
}
