package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
)

// The digits in an error text are enough to find the record, with or without
// the operation.
func TestRecordIsFoundByTheDigitsOfAnError(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.claim("pay#0000000000000000", time.Hour)
		id, err := idempotent.Key{Scope: "ada", ID: "order-1"}.RecordID("pay")
		if err != nil {
			t.Fatal(err)
		}
		s.claim(id, time.Hour)
		x, err := idempotent.New("pay", s.records, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.pay(x, "p-1")
		digits := regexp.MustCompile(`key ([0-9a-f]{12}) `).FindStringSubmatch(fmt.Sprint(err))
		if digits == nil {
			t.Fatalf("no digits in: %v", err)
		}
		_, hash, _ := strings.Cut(id, "#")
		for _, args := range [][]string{
			{digits[1]}, {"pay#" + digits[1]}, {"--operation", "pay", digits[1]}, {hash}, {"--operation", "pay", hash}, {id},
			{"--operation", "pay", "--scope", "ada", "order-1"},
		} {
			s.prints(id, append([]string{"inspect"}, args...)...)
		}
		s.ends(codeNoRecord, "no record of operation refund", "inspect", "--operation", "refund", digits[1])
		s.ends(codeNoRecord, "give its --operation", "inspect", "0123456789ab")
		s.prints("released: "+id, "release", digits[1], "--yes", "--force")
	})
}

// The hash of a key with a Record, such as one of Powertools, is no part of its id.
func TestRecordOfAnotherLibraryIsFoundByTheDigits(t *testing.T) {
	s := newScene(t)
	x := s.executor(nil)
	ctx, event := adapter.WithEvent(t.Context())
	_, err := idempotent.Do(ctx, x, idempotent.Key{Record: "app.handler#Xa=="}, func(context.Context) (int, error) { return 1, nil })
	if err != nil {
		t.Fatal(err)
	}
	if out := s.ok("inspect", event.KeyHash[:12]); !strings.Contains(out, "app.handler#Xa==") {
		t.Error(out)
	}
}

// One key under two operations has one hash.
func TestDigitsOfSeveralRecordsAreRefused(t *testing.T) {
	s := newScene(t)
	var digits string
	for _, operation := range []string{"pay", "refund"} {
		id, err := idempotent.Key{ID: "order-1"}.RecordID(operation)
		if err != nil {
			t.Fatal(err)
		}
		s.claimed(id, "a", time.Now())
		digits = strings.Split(id, "#")[1][:12]
	}
	s.refused(codeUsage, "refund#"+digits, "release", "--yes", digits)
	s.ok("inspect", "refund#"+digits)
}
