package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// statements returns those of docs/operate.md that show, release and resolve a
// record of PostgreSQL.
func statements(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Records in PostgreSQL\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var all []string
	for _, block := range strings.Split(section, "\n```text\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		all = append(all, block)
	}
	if len(all) != 3 {
		t.Fatalf("the section has the statements %q", all)
	}
	return all
}

// settle runs a statement with what a person has read, and returns the rows that
// it has updated.
func (s *postgresScene) settle(statement string, r driver.Record) int64 {
	s.Helper()
	for placeholder, value := range map[string]string{
		"'pay#34ed…'": "'" + r.ID + "'", "'OWNER'": "'" + r.Owner + "'", "'LEASE'": "'" + r.Lease.Format(time.RFC3339Nano) + "'",
		"attempt = 1 ": fmt.Sprint("attempt = ", r.Attempt, " "),
	} {
		if !strings.Contains(statement, placeholder) {
			s.Fatalf("%s is not in %s", placeholder, statement)
		}
		statement = strings.ReplaceAll(statement, placeholder, value)
	}
	tag, err := s.pool.Exec(s.Context(), statement)
	if err != nil {
		s.Fatal(err)
	}
	return tag.RowsAffected()
}

func TestStatementsSettleARecordOfPostgreSQL(t *testing.T) {
	all := statements(t)
	show, release, resolve := all[0], all[1], all[2]
	s := newPostgresScene(t, "idempotency", nil)
	x, err := idempotent.New("pay", s.store, &idempotent.Config{MaxAttempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	stuck := func() driver.Record {
		t.Helper()
		if _, err := s.pay(x, "another"); !errors.As(err, new(*idempotent.OutcomeUnknownError)) {
			t.Fatalf("the call returned %v", err)
		}
		var r driver.Record
		if err := s.pool.QueryRow(t.Context(), show).Scan(&r.ID, &r.Owner, &r.Attempt, &r.Lease); err != nil {
			t.Fatal(err)
		}
		return r
	}
	if _, err := s.pay(x, errCrash); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	r := stuck()
	for name, change := range map[string]func(*driver.Record){
		"id": func(r *driver.Record) { r.ID = "pay#other" }, "owner": func(r *driver.Record) { r.Owner = "other" },
		"attempt": func(r *driver.Record) { r.Attempt++ }, "lease": func(r *driver.Record) { r.Lease = r.Lease.Add(time.Millisecond) },
	} {
		changed := r
		change(&changed)
		if s.settle(release, changed)+s.settle(resolve, changed) != 0 {
			t.Errorf("a statement ignores the %s", name)
		}
	}
	if n := s.settle(release, r); n != 1 {
		t.Fatalf("released %d", n)
	}
	if _, err := s.pay(x, errCrash); !errors.Is(err, errCrash) {
		t.Fatalf("it did not run again: %v", err)
	}
	if n := s.settle(resolve, stuck()); n != 1 {
		t.Fatalf("resolved %d", n)
	}
	if got, err := s.pay(x, "another"); err != nil || got.ID != "p-7" {
		t.Errorf("a call got %v, %v", got, err)
	}
	if stored, err := s.store.Get(t.Context(), r.ID); err != nil || time.Until(stored.Expires) < 29*24*time.Hour {
		t.Errorf("%v; the record is %+v", err, stored)
	}
	failed := strings.NewReplacer("'COMPLETED'", "'FAILED'", `{"id":"p-7"}`, `{"type":"OperatorError","message":"no"}`).Replace(resolve)
	s.exec("DELETE FROM idempotency")
	if _, err := s.pay(x, errCrash); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	s.settle(failed, stuck())
	var replayed *idempotent.ReplayedError
	if _, err := s.pay(x, "another"); !errors.As(err, &replayed) || replayed.Type != "OperatorError" || replayed.Message != "no" {
		t.Errorf("a call got %v", err)
	}
}
