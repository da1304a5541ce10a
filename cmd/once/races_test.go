package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// What a person did not see is not written over, and shown: see also storetest, for each field.
func TestRecordThatIsGoneSinceItWasShownIsNotWritten(t *testing.T) {
	for command, code := range map[string]int{"release": cli.CodeChanged, "resolve --retention 24h --failed no": cli.CodeChanged, "release --delete": 0} {
		s := newScene(t)
		s.put(s.claimItem())
		r := s.between(append(strings.Fields(command), "pay#1", "--force"), func() { s.remove("pay#1") })
		check.Equal(t, r.code, code, command, r.err) // the answer to a deletion may be lost
		check.Equal(t, strings.HasSuffix(r.err, "\nIt is gone.\nonce: the record has changed since it was shown; nothing was written\n"), code != 0, r.err)
		check.Equal(t, len(s.items()), 0, command)
	}
}

func idOf(id string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"id": text(id)}
}

func (s *scene) claimItem() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"id": text("pay#1"), "status": text("INPROGRESS"), "owner": text("dead"), "attempt": number(1), "validation": text("f1"),
		"in_progress_expiration": number(1_600_000_000_000), "expiration": number(253402300799),
		"steps": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}},
	}
}

func (s *scene) remove(id string) {
	s.Helper()
	if _, err := s.client.DeleteItem(s.Context(), &dynamodb.DeleteItemInput{TableName: &s.table, Key: idOf(id)}); err != nil {
		s.Fatal(err)
	}
}

// A dialog is a command that a test talks to while it runs.
type dialog struct {
	cmd    *exec.Cmd
	answer io.Writer
	told   strings.Builder
	rest   *bufio.Reader
	out    bytes.Buffer
}

func (s *scene) start(args ...string) *dialog {
	s.Helper()
	d := &dialog{cmd: s.command(args...)}
	d.cmd.Stdout = &d.out
	says, err := d.cmd.StderrPipe()
	check.Must(s, err)
	d.answer, err = d.cmd.StdinPipe()
	check.Must(s, err)
	check.Must(s, d.cmd.Start())
	d.rest = bufio.NewReader(io.TeeReader(says, &d.told))
	return d
}

// hear reads until the command has said a text, or has ended.
func (s *scene) hear(d *dialog, text string) {
	s.Helper()
	for heard := ""; !strings.Contains(heard, text); {
		c, err := d.rest.ReadByte()
		if err != nil {
			s.Errorf("it does not say %q: %v\n%s", text, err, d.told.String())
			return
		}
		heard += string(c)
	}
}

func (s *scene) ended(d *dialog) ran {
	s.Helper()
	if _, err := io.Copy(io.Discard, d.rest); err != nil {
		s.Fatal(err)
	}
	_ = d.cmd.Wait() // the code counts
	return ran{d.out.String(), d.told.String(), d.cmd.ProcessState.ExitCode()}
}

// between runs a command, does something when it asks, and says yes.
func (s *scene) between(args []string, do func()) ran {
	s.Helper()
	input, answer := io.Pipe()
	ended := make(chan ran, 1)
	go func() {
		ended <- s.reading(input, args...)
		check.Nil(s, input.Close())
	}()
	_, err := answer.Write(nil) // once it reads
	check.Nil(s, err, "it does not ask", args)
	if err == nil {
		do()
		_, err = io.WriteString(answer, "y\n")
		check.Nil(s, err)
	}
	return <-ended
}

// The SDK sends a write again whose answer was lost, and its condition then
// fails because of the write itself.
func TestWriteWithALostResponseIsRecognized(t *testing.T) {
	for name, args := range map[string][]string{
		"release": {"release", "pay#1"},
		"delete":  {"release", "pay#1", "--delete", "--force"},
		"resolve": {"resolve", "pay#1", "--retention", "24h", "--completed", "--no-result"},
		"redact":  {"redact", "pay#done"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.put(s.claimItem())
			plant(t, s.store, finished("pay#done", -time.Hour))
			var writes atomic.Int64
			cut := s.through(func(operation string, _ *wire.Response) error {
				if operation != "GetItem" && writes.Add(1) == 1 {
					return wire.ErrCut
				}
				return nil
			})
			s.ok(append(args, "--yes", "--endpoint", cut)...)
			check.Equal(t, writes.Load(), 2, "times sent")
		})
	}
}

// Whether a lease is live is not for the clock of the operator's machine.
func TestTimeIsDynamoDBs(t *testing.T) {
	s := newScene(t)
	dated := func(by time.Duration) string {
		return s.through(func(_ string, answer *wire.Response) error {
			answer.Header.Set("Date", time.Now().Add(by).UTC().Format(http.TimeFormat))
			return nil
		})
	}
	s.claimed("pay#ahead", "alive", time.Now().Add(-30*time.Minute))
	s.refused(cli.CodeRefused, "a call runs it until", "release", "pay#ahead", "--yes", "--endpoint", dated(-time.Hour))
	s.claimed("pay#behind", "dead", time.Now().Add(30*time.Minute))
	s.ok("release", "pay#behind", "--yes", "--endpoint", dated(time.Hour))
}

// A write without an answer may have been applied.
func TestUnacknowledgedWriteHasItsOwnCode(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1") // a retry would meet the first write
	for name, args := range map[string][]string{
		"release": {"release", "pay#1"},
		"delete":  {"release", "pay#1", "--delete", "--force"},
		"resolve": {"resolve", "pay#1", "--retention", "24h", "--completed", "--no-result"},
	} {
		for how, failed := range map[string]error{"cut": wire.ErrCut, "500": nil} {
			t.Run(name+" "+how, func(t *testing.T) {
				s := newScene(t)
				s.put(s.claimItem())
				endpoint := s.through(func(operation string, answer *wire.Response) error {
					if operation == "GetItem" {
						return nil
					}
					answer.Status = http.StatusInternalServerError
					return failed
				})
				r := s.run(append(args, "--yes", "--endpoint", endpoint)...)
				if r.code != cli.CodeUnacknowledged || r.out != "" || !strings.Contains(r.err, "may have been written; inspect it") || strings.Contains(r.err, "nothing was written") {
					t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
				}
			})
		}
	}
}

// The record is taken over between an unacknowledged write and the next.
func TestUnacknowledgedWriteThatIsOvertakenHasItsOwnCode(t *testing.T) {
	s := newScene(t)
	s.put(s.claimItem())
	var writes atomic.Int64
	endpoint := s.through(func(operation string, _ *wire.Response) error {
		if operation == "GetItem" || writes.Add(1) > 1 {
			return nil
		}
		item := s.claimItem()
		item["owner"] = text("successor")
		s.put(item)
		return wire.ErrCut
	})
	r := s.run("release", "pay#1", "--yes", "--endpoint", endpoint)
	if r.code != cli.CodeUnacknowledged || !strings.Contains(r.err, "successor") || strings.Contains(r.err, "nothing was written") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
}

func TestRefusedWriteWritesNothing(t *testing.T) {
	s := newScene(t)
	s.put(s.claimItem())
	endpoint := s.through(func(operation string, answer *wire.Response) error {
		if operation != "GetItem" {
			denies(answer)
		}
		return nil
	})
	r := s.run("release", "pay#1", "--yes", "--endpoint", endpoint)
	if r.code != cli.CodeFailed || !strings.Contains(r.err, "nothing was written: ") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
}

// Ctrl-C at the question is a no.
func TestInterruptedQuestionWritesNothing(t *testing.T) {
	s := newScene(t)
	s.put(s.claimItem())
	d := s.start("release", "pay#1")
	s.hear(d, "?")
	check.Must(t, d.cmd.Process.Signal(os.Interrupt))
	if r := s.ended(d); r.code != cli.CodeDeclined || !strings.Contains(r.err, "nothing was written") {
		t.Errorf("exit %d, it says %s", r.code, r.err)
	}
	if r := s.stored("pay#1"); r.Owner != "dead" {
		t.Errorf("the record is %+v", r)
	}
}
