package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
)

// order has two steps that can be undone, of which the first takes as many
// tries to undo as are given, and then fails for good.
func (s *scene) order(x *idempotent.Executor, refusals *int) error {
	undo := func(name string) func(context.Context, string) error {
		return func(context.Context, string) error {
			if name == "reserve" && *refusals > 0 {
				*refusals--
				return errCrash
			}
			return nil
		}
	}
	_, err := idempotent.Do(s.Context(), x, idempotent.Key{Scope: "ada", ID: "order-1"}, func(ctx context.Context) (receipt, error) {
		for _, name := range []string{"reserve", "charge"} {
			do := func(context.Context) (string, error) { return "Ada", nil }
			if _, err := idempotent.SagaStep(ctx, name, do, undo(name)); err != nil {
				return receipt{}, err
			}
		}
		return receipt{}, idempotent.Permanent(errCrash)
	})
	return err
}

// A saga that package idempotent has written, before and after it is undone.
func TestInspectShowsSagas(t *testing.T) {
	s := newScene(t)
	x := s.executor(nil)
	refusals := 1
	if err := s.order(x, &refusals); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	out := s.ok(with("inspect")...)
	for _, want := range []string{
		"\nstep         charge, 7 bytes, undone\n",
		"\nstep         reserve, 7 bytes, to be undone\n",
		"\nfailed       for good, with errorString\n",
		"goes on undoing its steps",
	} {
		check.Contains(t, out, want)
	}
	var shown struct {
		Steps []record.Step
		Saga  record.Saga
	}
	r := s.typing("n\n", with("release")...) // whoever releases it sees that it is being undone
	for _, want := range []string{"reserve, 7 bytes, to be undone", "goes on undoing its steps"} {
		check.Contains(t, r.out+r.err, want)
	}
	text := s.ok(with("inspect", "--json")...)
	if err := json.Unmarshal([]byte(text), &shown); err != nil || len(shown.Steps) != 2 || strings.Join(shown.Saga.Undo, " ") != "charge reserve" {
		t.Errorf("%v: %s", err, text)
	}
	check.Contains(t, text, `"next":"undoes"`)
	check.Lacks(t, out+text, "Ada", "it shows what the steps hold")

	check.Is(t, s.order(x, &refusals), idempotent.ErrReplayed)
	out = s.ok(with("inspect")...)
	if !strings.Contains(out, "\nundone       charge, reserve\n") || strings.Contains(out, "\nstep ") {
		t.Errorf("finished:\n%s", out)
	}
}

// How the results of steps are kept shows, and nothing of them.
func TestInspectShowsSteps(t *testing.T) {
	s := newScene(t)
	item := s.claimItem()
	b := func(text string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(text)} }
	item["steps"] = &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
		"bytes": b("r=\xff"), "here": text(`="Ada"`), "mine": text(`~="Ada"`), "mine-bytes": b("r~=\xff"), "lost": text("!it was too large"), "old": text(`"Ada"`), "there": text("@sha256/Ada"), "zip": b("gAda"),
		"null": &types.AttributeValueMemberNULL{Value: true},
	}}
	s.put(item)
	golden(t, "steps", s.ok("inspect", "pay#1"))
	golden(t, "steps-json", s.ok("inspect", "pay#1", "--json"))
}

// What the command does not know, or cannot read, is shown all the same.
func TestInspectShowsWhatItCannotRead(t *testing.T) {
	steps := func(of map[string]types.AttributeValue) map[string]types.AttributeValue {
		of["charge"] = text("=1")
		// The bytes that a large record keeps free for undoing are not shown.
		of[":room"] = &types.AttributeValueMemberB{Value: []byte("r#\xff\xfe")}
		return map[string]types.AttributeValue{"steps": &types.AttributeValueMemberM{Value: of}}
	}
	for want, change := range map[string]map[string]types.AttributeValue{
		"\nstep         :late, 2 bytes, Once's own, which a newer version writes\n": steps(map[string]types.AttributeValue{":late": text("=1")}),
		"\nfailed       for good, with an error that cannot be read\n":              steps(map[string]types.AttributeValue{":failure": text("=sealed")}),
		"\nproblem      attribute \"attempt\": it has type S, not N\n":              {"status": text("FAILED"), "attempt": text("one")},
	} {
		s := newScene(t)
		item := s.claimItem()
		maps.Copy(item, change)
		s.put(item)
		out := s.ok("inspect", "pay#1")
		check.Contains(t, out, want)
		check.Lacks(t, out, "room")
		if strings.Contains(want, "failed") { // a resolution leaves steps that are not undone as they are
			s.refused(cli.CodeRefused, "its steps are being undone", "resolve", "pay#1", "--retention", "24h", "--completed", "--no-result", "--yes")
		}
	}
}
