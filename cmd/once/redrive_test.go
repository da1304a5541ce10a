package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

func TestRedriveSaysWhatTheFunctionWouldDo(t *testing.T) {
	onQueues(t, "", everyStore, func(d *deadLetters) {
		d.had("done", 0, nil)
		d.had("declined", 0, idempotent.Permanent(errors.New("declined")))
		d.lapsed("again")
		d.had("limited", 1, errors.New("down"))
		d.claim(d.record("running"), time.Hour)
		plant(d.T, d.records, finished(d.record("expired"), time.Minute))
		want := map[string]string{
			"done": "finished", "declined": "finished", "again": "will-run", "limited": "waiting", "running": "waiting", "expired": "expired", "new": "will-run", "": "refused",
		}
		for order := range want {
			d.send(order)
		}
		// All are visible again, and those without a record may be late.
		for retention, verdict := range map[string]string{"28d": "will-run", "1ns": "late"} {
			got := d.looked(d.ok(d.redrive("--json", "--data", "--retention", retention)...))
			if want["new"], want["expired"] = verdict, "expired"; d.flags[0] != "--postgres" && got["expired"] == verdict {
				want["expired"] = verdict // as the server has deleted the record
			}
			check.Deep(d, got, want, retention)
		}
		r := d.run(d.redrive("--limit", "3")...)
		check.Equal(d, r.code, 0, r.err)
		check.Equal(d, strings.Count(r.out, "\n"), 4, r.out)
		has, had := "8 messages: 2 will-run, 2 waiting, 2 finished, 1 expired", "8 messages: 3 will-run, 2 waiting, 2 finished, "
		check.True(d, strings.Contains(r.out, has) || d.flags[0] != "--postgres" && strings.Contains(r.out, had), r.out)
		check.Lacks(d, r.out, "Ada", "a body is shown")
		check.Equal(d, len(d.receive(d.orders)), 0, "moved without --move")
		check.Equal(d, len(d.receive(d.dead)), 8)
	})
}

func TestRedriveMovesWhatIsChosen(t *testing.T) {
	onQueues(t, "", everyStore[:2], func(d *deadLetters) {
		d.had("done", 0, nil)
		d.lapsed("again")
		d.had("limited", 1, errors.New("down"))
		d.had("declined", 0, idempotent.Permanent(errors.New("declined")))
		for _, order := range []string{"done", "declined", "again", "limited", "new", ""} {
			d.send(order)
		}
		d.ends(cli.CodeDeclined, "1 messages will be moved to orders", "redrive", "dead", "--operation", "pay", "--key", "body.orderId", "--move", "will-run")
		r := d.run(d.redrive("--move", "will-run", "--yes")...)
		check.Contains(d, r.err, "1 messages will not be moved: set --retention", "a late one would run again")
		check.Equal(d, r.out, "moved: 1 of 1\n", r.err)
		check.Contains(d, d.ok(d.redrive("--move", "will-run,finished", "--retention", "28d", "--yes", "--json")...), "would come back")
		moved := d.receive(d.orders)
		check.Slice(d, ordersOf(moved), []string{"again", "done", "new"})
		check.Equal(d, aws.ToString(moved[0].MessageAttributes["tenant"].StringValue), "t-1")
		check.Slice(d, moved[0].MessageAttributes["raw"].BinaryValue, []byte{0, 1})
		check.Contains(d, *moved[0].Body, `"name":"Ada"`)
		for _, m := range moved {
			check.True(d, d.deliver(m))
		}
		slices.Sort(d.ran)
		check.Slice(d, d.ran, []string{"again", "new"})
		check.Slice(d, ordersOf(d.receive(d.dead)), []string{"", "declined", "limited"})
	})
}

// The record makes the message that is left behind a duplicate.
func TestRedriveThatIsKilledBetweenSendAndDeleteRunsNothingTwice(t *testing.T) {
	onQueues(t, "", dynamoDBOnly, func(d *deadLetters) {
		d.lapsed("again")
		d.send("again")
		var held struct{ ReceiptHandle string }
		killed := make(chan *dialog, 1)
		d.serve(func(r *wire.Request) (*wire.Response, error) {
			if strings.HasSuffix(r.Operation, "DeleteMessage") {
				check.Nil(d, json.Unmarshal(r.Body, &held))
				check.Nil(d, (<-killed).cmd.Process.Kill())
				<-r.Context.Done()
				return nil, wire.ErrCut
			}
			return r.Send()
		})
		c := d.start(d.redrive("--move", "will-run", "--yes")...)
		killed <- c
		check.Equal(d, d.ended(c).code, -1)
		d.serve((*wire.Request).Send)
		// As after --hold.
		_, err := d.sqs.ChangeMessageVisibility(d.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: d.dead, ReceiptHandle: &held.ReceiptHandle})
		check.Must(d, err)
		sent := d.receive(d.orders)
		check.Equal(d, len(sent), 1)
		check.True(d, d.deliver(sent[0]))
		check.Contains(d, d.ok(d.redrive("--move", "finished", "--yes", "--json")...), `"verdict":"finished"`)
		for _, m := range d.receive(d.orders) {
			check.True(d, d.deliver(m))
		}
		check.Slice(d, d.ran, []string{"again"})
		check.Equal(d, len(d.receive(d.dead)), 0)
	})
}

// Only an acknowledged send lets a message go.
func TestRedriveKeepsWhatWasNotSent(t *testing.T) {
	onQueues(t, "", dynamoDBOnly, func(d *deadLetters) {
		d.send("new")
		for code, answer := range map[int]func(*wire.Request) (*wire.Response, error){
			cli.CodeFailed: func(*wire.Request) (*wire.Response, error) {
				return &wire.Response{Status: http.StatusBadRequest, Body: []byte(`{"__type":"AccessDenied"}`)}, nil
			},
			cli.CodeUnacknowledged: func(*wire.Request) (*wire.Response, error) { return nil, wire.ErrCut },
		} {
			d.serve(func(r *wire.Request) (*wire.Response, error) {
				if strings.HasSuffix(r.Operation, "SendMessage") {
					return answer(r)
				}
				return r.Send()
			})
			r := d.run(d.redrive("--move", "will-run", "--retention", "28d", "--yes")...)
			check.Equal(d, r.code, code, r.err)
			check.Contains(d, r.err, "message ")
			check.Equal(d, r.out, "moved: 0 of 1\n")
		}
		d.serve((*wire.Request).Send)
		check.Slice(d, ordersOf(d.receive(d.dead)), []string{"new"})
	})
}

// With a new id, a message would run whatever its record says.
func TestRedriveLeavesWhatWouldHaveANewKey(t *testing.T) {
	onQueues(t, "", dynamoDBOnly, func(d *deadLetters) {
		d.send("new")
		r := d.run(d.with("redrive", "dead", "--operation", "pay", "--key", "default", "--move", "will-run,finished", "--retention", "28d", "--yes")...)
		check.Equal(d, r.code, 0, r.err)
		check.Contains(d, r.err, "1 messages will not be moved: its key changes with the move")
		check.Equal(d, r.out, "moved: 0 of 0\n")
		check.Contains(d, r.err, "none has a record")
		check.Equal(d, len(d.receive(d.orders)), 0)
		check.Equal(d, len(d.receive(d.dead)), 1)
	})
}

// Several queues may share a dead-letter queue.
func TestRedriveLeavesTheMessagesOfOtherQueues(t *testing.T) {
	onQueues(t, "", dynamoDBOnly, func(d *deadLetters) {
		d.send("new")
		d.newQueue("returns", map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:eu-central-1:123456789012:dead","maxReceiveCount":5}`})
		check.Contains(d, d.run(d.redrive()...).err, "dead is the dead-letter queue of 2 queues: set --to")
		d.serve(func(r *wire.Request) (*wire.Response, error) { // moto does not say it
			answer, err := r.Send()
			if err == nil && strings.HasSuffix(r.Operation, "ReceiveMessage") {
				answer.Header.Del("Content-Length")
				answer.Body = bytes.Replace(answer.Body, []byte(`"SenderId"`), []byte(`"DeadLetterQueueSourceArn":"arn:aws:sqs:eu-central-1:123456789012:orders","SenderId"`), 1)
			}
			return answer, err
		})
		move := d.redrive("--move", "will-run", "--retention", "28d", "--yes")
		r := d.run(append(move, "--to", "returns")...)
		check.Contains(d, r.err, "1 messages will not be moved: it came from arn:aws:sqs:eu-central-1:123456789012:orders")
		check.Equal(d, d.ok(append(move, "--to", "orders")...), "moved: 1 of 1\n")
	})
}

// Between the question and the answer, a call or a second operator may come.
func TestRedriveLooksAgainBeforeItMoves(t *testing.T) {
	onQueues(t, "", dynamoDBOnly, func(d *deadLetters) {
		d.lapsed("again")
		d.send("again")
		r := d.between(d.redrive("--move", "will-run"), func() {
			check.True(d, d.deliver(sqstypes.Message{MessageId: aws.String("m-2"), Body: aws.String(`{"orderId":"again"}`)}))
		})
		check.Equal(d, r.code, cli.CodeFailed)
		check.Contains(d, r.err, "is left, as it is now: finished")
		r = d.between(d.redrive("--move", "finished"), func() {
			_, err := d.sqs.PurgeQueue(d.Context(), &sqs.PurgeQueueInput{QueueUrl: d.dead})
			check.Must(d, err)
		})
		check.Equal(d, r.code, cli.CodeFailed)
		check.Contains(d, r.err, "is left, as it was visible again")
		check.Equal(d, len(d.receive(d.orders)), 0)
		// Its attempts and steps are gone: it would run as the first one.
		d.lapsed("gone")
		d.send("gone")
		r = d.between(d.redrive("--move", "will-run", "--retention", "28d"), func() {
			d.ok(d.with("release", "--delete", "--yes", d.record("gone"))...)
		})
		check.Equal(d, r.code, cli.CodeFailed)
		check.Contains(d, r.err, "is left, as it is now: will-run, it has no record")
		check.Equal(d, len(d.receive(d.orders)), 0)
	})
}

func TestRedriveOfAFIFOQueueKeepsGroupsAndOrder(t *testing.T) {
	onQueues(t, ".fifo", dynamoDBOnly, func(d *deadLetters) {
		for i := range 6 {
			d.send(fmt.Sprint("new-", i), func(in *sqs.SendMessageInput) {
				in.MessageGroupId, in.MessageDeduplicationId = aws.String(fmt.Sprint("g", i%2)), aws.String(fmt.Sprint("id of the message ", i))
			})
		}
		flags := []string{"redrive", "dead.fifo", "--operation", "pay", "--move", "will-run", "--yes", "--retention"}
		gone := d.run(d.with(append(flags, "28d", "--key", "source.attributes.MessageDeduplicationId")...)...)
		check.Contains(d, gone.out+gone.err, "6 refused")
		check.Contains(d, gone.err, "moved to orders.fifo")
		// The age of a message began anew when it came here, after up to four days.
		check.Contains(d, d.run(d.with(append(flags, "3d", "--key", "body.orderId")...)...).err, "6 late")
		check.Equal(d, d.ok(d.with(append(flags, "28d", "--key", "body.orderId")...)...), "moved: 6 of 6\n")
		last := map[string]string{}
		moved := d.receive(d.orders)
		check.Equal(d, len(moved), 6)
		for _, m := range moved {
			group := m.Attributes["MessageGroupId"]
			check.True(d, last[group] < orderOf(m), "the order in ", group)
			check.Lacks(d, m.Attributes["MessageDeduplicationId"], "id of the message", "a second message may have had this id")
			last[group] = orderOf(m)
		}
		check.Equal(d, len(last), 2)
	})
}

func TestRedriveLooksAtAFailureDestination(t *testing.T) {
	onQueues(t, "", dynamoDBOnly, func(d *deadLetters) {
		d.had("done", 0, nil)
		failures := d.newQueue("failures", map[string]string{})
		const event = `{"version":"1.0","requestContext":{"requestId":"r","functionArn":"arn:aws:lambda:eu-central-1:1:function:pay:$LATEST","condition":"RetriesExhausted","approximateInvokeCount":3},"requestPayload":{"orderId":"done"}}`
		_, err := d.sqs.SendMessage(d.Context(), &sqs.SendMessageInput{QueueUrl: failures, MessageBody: aws.String(event)})
		check.Must(d, err)
		args := d.with("redrive", "failures", "--operation", "pay", "--key", "body.requestPayload.orderId")
		r := d.run(args...)
		check.Equal(d, r.code, cli.CodeUsage)
		check.Contains(d, r.err, "failures is the dead-letter queue of no queue")
		check.Contains(d, d.ok(append(args, "--to", "none")...), "1 messages: 1 finished")
		r = d.run(append(args, "--to", "orders", "--move", "finished", "--yes")...)
		check.Contains(d, r.err, "1 messages will not be moved: it is an event of a failure destination")
		check.Equal(d, len(d.receive(d.orders)), 0)
	})
}

// An interrupt loses nothing: what was looked at is visible again.
func TestInterruptedRedriveGivesBack(t *testing.T) {
	onQueues(t, "", dynamoDBOnly, func(d *deadLetters) {
		d.send("new")
		c := d.start(d.redrive("--move", "will-run", "--retention", "28d")...)
		d.hear(c, "Go on?")
		check.Must(d, c.cmd.Process.Signal(syscall.SIGTERM))
		check.Equal(d, d.ended(c).code, cli.CodeDeclined)
		check.Equal(d, len(d.receive(d.dead)), 1)
	})
}

// Nothing is known of a record that calls cannot read, or that has another payload.
func TestRedriveDoesNotMoveWhatCallsRefuse(t *testing.T) {
	onQueues(t, "", dynamoDBOnly, func(d *deadLetters) {
		s := newScene(d.T)
		d.records, d.flags = s.store, []string{"--table", s.table}
		s.put(map[string]types.AttributeValue{"id": text(d.record("broken")), "status": text("COMPLETED"), "owner": text("o"), "attempt": text("one"), "data": text("1")})
		d.send("broken")
		d.finish(d.record("chain"), "null")
		d.send("other", func(in *sqs.SendMessageInput) {
			in.MessageAttributes[handlers.ChainAttribute] = sqstypes.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String("chain")}
		})
		check.Contains(d, d.ok(d.redrive()...), "calls cannot read its record: ")
		out := d.ok(d.with("redrive", "dead", "--operation", "pay", "--key", "default")...)
		check.Contains(d, out, "its record has a different payload")
		check.Equal(d, d.run(d.redrive("--move", "refused")...).code, cli.CodeUsage)
	})
}
