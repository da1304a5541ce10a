package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Whatever changes while a person reads, the write does not hold.
func TestRecordChangedSinceItWasShownIsNotWritten(t *testing.T) {
	set := func(name string, v types.AttributeValue) func(map[string]types.AttributeValue) {
		return func(item map[string]types.AttributeValue) { item[name] = v }
	}
	commands := map[string][]string{
		"release":  {"release", "pay#1", "--force"},
		"delete":   {"release", "pay#1", "--force", "--delete"},
		"complete": {"resolve", "pay#1", "--retention", "24h", "--force", "--completed", "--no-result"},
		"fail":     {"resolve", "pay#1", "--retention", "24h", "--force", "--failed", "no"},
	}
	changes := map[string]func(map[string]types.AttributeValue){
		"taken over":        set("owner", text("successor")),
		"given up":          func(item map[string]types.AttributeValue) { delete(item, "owner") },
		"heartbeat":         set("in_progress_expiration", number(1_700_000_000_000)),
		"without a lease":   func(item map[string]types.AttributeValue) { delete(item, "in_progress_expiration") },
		"next attempt":      set("attempt", number(2)),
		"refund":            set("refunds", number(1)),
		"completed":         set("status", text("COMPLETED")),
		"another retention": set("expiration", number(9_999_999_999)),
		"another payload":   set("validation", text("f2")),
		"a result":          set("data", text("{}")),
		"a step":            set("steps", &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"a": text("1")}}),
		"gone":              nil,
	}
	s := newScene(t)
	for command, args := range commands {
		for change, apply := range changes {
			t.Run(command+", "+change, func(t *testing.T) {
				s := &scene{t, s.client, s.table, s.store}
				item := s.claimItem()
				s.put(item)
				r := s.between(args, func() {
					if apply == nil {
						s.remove("pay#1")
						return
					}
					apply(item)
					s.put(item)
				})
				want := s.items()
				if command == "delete" && change == "gone" {
					// It is as it was to be; the answer to a delete may be lost.
					if r.code != 0 {
						t.Errorf("exit %d\n%s", r.code, r.err)
					}
					return
				}
				if r.code != codeChanged || r.out != "" || !strings.Contains(r.err, "the record has changed since it was shown") {
					t.Errorf("exit %d, want %d\n%s%s", r.code, codeChanged, r.out, r.err)
				}
				after := r.err[strings.Index(r.err, "Go on?"):]
				if shows := strings.Contains(after, "It is now:\nrecord       pay#1\n"); shows != (apply != nil) {
					t.Errorf("it shows what the record is now: %v\n%s", shows, after)
				}
				if apply != nil && len(want) != 1 || apply == nil && len(want) != 0 {
					t.Errorf("the table has %v", want)
				}
				if apply != nil {
					got, err := s.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &s.table, Key: idOf("pay#1")})
					if err != nil || !reflect.DeepEqual(got.Item, item) {
						t.Errorf("it was written: %v, %v", got, err)
					}
				}
			})
		}
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

// between runs a command, does something when it asks, and says yes.
func (s *scene) between(args []string, do func()) ran {
	s.Helper()
	cmd := s.command(args...)
	answer, err := cmd.StdinPipe()
	if err != nil {
		s.Fatal(err)
	}
	asks, err := cmd.StderrPipe()
	if err != nil {
		s.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	var told strings.Builder
	read := bufio.NewReader(io.TeeReader(asks, &told))
	if _, err := read.ReadString('?'); err != nil {
		s.Fatalf("it does not ask: %v\n%s", err, told.String())
	}
	do()
	if _, err := io.WriteString(answer, "y\n"); err != nil {
		s.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, read); err != nil {
		s.Fatal(err)
	}
	_ = cmd.Wait() // the code is what counts
	return ran{out.String(), told.String(), cmd.ProcessState.ExitCode()}
}

// An owner that finishes while a person reads wins.
func TestRecordFinishedMeanwhileIsNotWritten(t *testing.T) {
	s := newScene(t)
	x := s.stuck()
	r := s.between(with("resolve", "--retention", "24h", "--failed", "lost"), func() {
		s.ok(with("release", "--yes")...)
		if _, err := s.pay(x, "done after all"); err != nil {
			t.Error(err)
		}
	})
	if r.code != codeChanged || !strings.Contains(r.err, "COMPLETED") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if got, err := s.pay(x, "again"); err != nil || got.ID != "done after all" {
		t.Errorf("replayed %v, %v", got, err)
	}
}

// Two operators do not release one record twice.
func TestOneOfTwoOperatorsWrites(t *testing.T) {
	s := newScene(t)
	s.claimed("pay#1", "dead", time.Now().Add(-time.Hour))
	r := s.between([]string{"resolve", "pay#1", "--retention", "24h", "--completed", "--no-result"}, func() {
		s.ok("resolve", "pay#1", "--retention", "24h", "--failed", "no", "--yes")
	})
	if r.code != codeChanged || s.stored("pay#1").Status != "FAILED" {
		t.Errorf("exit %d, and the record is %+v", r.code, s.stored("pay#1"))
	}
}

// The SDK sends a write again whose answer was lost, and its condition then
// fails because of the write itself.
func TestWriteWithALostResponseIsRecognized(t *testing.T) {
	for name, args := range map[string][]string{
		"release": {"release", "pay#1"},
		"delete":  {"release", "pay#1", "--delete", "--force"},
		"resolve": {"resolve", "pay#1", "--retention", "24h", "--completed", "--no-result"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.put(s.claimItem())
			target, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"))
			if err != nil {
				t.Fatal(err)
			}
			forward := httputil.NewSingleHostReverseProxy(target)
			var writes atomic.Int64
			cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetItem") && writes.Add(1) == 1 {
					forward.ServeHTTP(httptest.NewRecorder(), r)
					panic(http.ErrAbortHandler)
				}
				forward.ServeHTTP(w, r)
			}))
			defer cut.Close()
			s.ok(append(args, "--yes", "--endpoint", cut.URL)...)
			if n := writes.Load(); n != 2 {
				t.Errorf("it was sent %d times", n)
			}
		})
	}
}

// through is DynamoDB with changed responses.
func (s *scene) through(change func(*http.Response) error) string {
	s.Helper()
	target, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"))
	if err != nil {
		s.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = change
	server := httptest.NewServer(proxy)
	s.Cleanup(server.Close)
	return server.URL
}

// Whether a lease is live is not for the clock of the operator's machine.
func TestTimeIsDynamoDBs(t *testing.T) {
	s := newScene(t)
	dated := func(by time.Duration) string {
		return s.through(func(r *http.Response) error {
			r.Header.Set("Date", time.Now().Add(by).UTC().Format(http.TimeFormat))
			return nil
		})
	}
	s.claimed("pay#ahead", "alive", time.Now().Add(-30*time.Minute))
	s.refused(codeRefused, "somebody runs it until", "release", "pay#ahead", "--yes", "--endpoint", dated(-time.Hour))
	s.claimed("pay#behind", "dead", time.Now().Add(30*time.Minute))
	s.ok("release", "pay#behind", "--yes", "--endpoint", dated(time.Hour))
}

// What was sent and not answered may have been written.
func TestUnacknowledgedWriteHasItsOwnCode(t *testing.T) {
	isWrite := func(r *http.Response) bool {
		return !strings.HasSuffix(r.Request.Header.Get("X-Amz-Target"), ".GetItem")
	}
	t.Setenv("AWS_MAX_ATTEMPTS", "1") // a retry would meet what the first has written
	for name, args := range map[string][]string{
		"release": {"release", "pay#1"},
		"delete":  {"release", "pay#1", "--delete", "--force"},
		"resolve": {"resolve", "pay#1", "--retention", "24h", "--completed", "--no-result"},
	} {
		for how, answer := range map[string]func(*http.Response){
			"cut": func(*http.Response) { panic(http.ErrAbortHandler) },
			"500": func(r *http.Response) { r.StatusCode = http.StatusInternalServerError },
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				s := newScene(t)
				s.put(s.claimItem())
				endpoint := s.through(func(r *http.Response) error {
					if isWrite(r) {
						answer(r)
					}
					return nil
				})
				r := s.run(append(args, "--yes", "--endpoint", endpoint)...)
				if r.code != codeUnacknowledged || r.out != "" || !strings.Contains(r.err, "may have been written; inspect it") || strings.Contains(r.err, "nothing was written") {
					t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
				}
			})
		}
	}
}

// Another takes the record between an unacknowledged write and the next.
func TestUnacknowledgedWriteThatIsOvertakenHasItsOwnCode(t *testing.T) {
	s := newScene(t)
	s.put(s.claimItem())
	var writes atomic.Int64
	endpoint := s.through(func(r *http.Response) error {
		if !strings.HasSuffix(r.Request.Header.Get("X-Amz-Target"), ".GetItem") && writes.Add(1) == 1 {
			item := s.claimItem()
			item["owner"] = text("successor")
			s.put(item)
			panic(http.ErrAbortHandler)
		}
		return nil
	})
	r := s.run("release", "pay#1", "--yes", "--endpoint", endpoint)
	if r.code != codeUnacknowledged || !strings.Contains(r.err, "successor") || strings.Contains(r.err, "nothing was written") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
}

func TestRefusedWriteWritesNothing(t *testing.T) {
	s := newScene(t)
	s.put(s.claimItem())
	endpoint := s.through(func(r *http.Response) error {
		if !strings.HasSuffix(r.Request.Header.Get("X-Amz-Target"), ".GetItem") {
			r.StatusCode = http.StatusBadRequest
			r.Header = http.Header{"X-Amzn-Errortype": {"AccessDeniedException"}}
		}
		return nil
	})
	r := s.run("release", "pay#1", "--yes", "--endpoint", endpoint)
	if r.code != codeFailed || !strings.Contains(r.err, "nothing was written: ") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
}

// Ctrl-C at the question is a no.
func TestInterruptedQuestionWritesNothing(t *testing.T) {
	s := newScene(t)
	s.put(s.claimItem())
	cmd := s.command("release", "pay#1")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	asks, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := bufio.NewReader(asks)
	if _, err := read.ReadString('?'); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(read)
	_ = cmd.Wait() // the code is what counts
	if code := cmd.ProcessState.ExitCode(); err != nil || code != codeDeclined || !strings.Contains(string(rest), "nothing was written") {
		t.Errorf("exit %d, %v, it says %s", code, err, rest)
	}
	if r := s.stored("pay#1"); r.Owner != "dead" {
		t.Errorf("the record is %+v", r)
	}
}
