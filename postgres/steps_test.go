package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func FuzzSteps(f *testing.F) {
	f.Add([]byte{}, "name", []byte("data"))
	f.Add(encodeSteps(map[string][]byte{"a": nil, "\x00": []byte("1")}), "a", []byte{})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, "", []byte{0})
	f.Fuzz(func(t *testing.T, stored []byte, name string, data []byte) {
		steps, err := decodeSteps(stored)
		if err != nil {
			return
		}
		if steps == nil {
			steps = map[string][]byte{}
		}
		more := map[string][]byte{name: data}
		maps.Copy(steps, more)
		got, err := decodeSteps(append(bytes.Clone(stored), encodeSteps(more)...))
		if err != nil || !maps.EqualFunc(got, steps, bytes.Equal) {
			t.Errorf("%v: %q, want %q", err, got, steps)
		}
	})
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "op#0123", `\x`, `\x00`, "\x00", "\xff", `a\x41`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		stored := encodeText(s)
		got, err := decodeText(stored)
		if err != nil || got != s || strings.ContainsRune(stored, 0) {
			t.Errorf("%q is stored as %q and read as %q, %v", s, stored, got, err)
		}
	})
}

func TestStepsThatDoNotFitAreTooLarge(t *testing.T) {
	s := newStore(t, newPool(t), &Options{MaxSize: 1000})
	create(t, s, claim("id", owner))
	step := func(name string, size int) (bool, error) {
		_, ok, err := s.Change(t.Context(), driver.Fence{ID: "id", Owner: owner}, driver.Change{Steps: map[string][]byte{name: make([]byte, size)}})
		return ok, err
	}
	if ok, err := step("a", 600); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for _, size := range []int{600, 1000} {
		if ok, err := step("b", size); ok || !errors.Is(err, driver.ErrTooLarge) || errors.Is(err, driver.ErrUnavailable) {
			t.Errorf("%d bytes: ok %v, %v; want ErrTooLarge", size, ok, err)
		}
	}
	if ok, err := step("c", 300); !ok || err != nil {
		t.Error(ok, err)
	}
	check.Equal(t, len(get(t, s, "id").Steps), 2, "steps")
	f := driver.Fence{ID: "id", Owner: rival}
	if _, ok, err := s.Change(t.Context(), f, driver.Change{Steps: map[string][]byte{"d": make([]byte, 1000)}}); ok || err != nil {
		t.Errorf("steps of another owner: ok %v, %v; want a failed condition", ok, err)
	}
}

// A claim that is too large must not run: its caller could never be found again.
func TestRequestThatDoesNotFitIsRefused(t *testing.T) {
	s := newStore(t, newPool(t), &Options{MaxSize: 1000})
	for size, fits := range map[int]bool{1000: true, 1001: false} {
		r := claim(fmt.Sprint(size), owner)
		r.Request = make([]byte, size)
		_, ok, err := s.Create(t.Context(), r, now, nil)
		check.Equal(t, ok, fits, size)
		check.Equal(t, errors.Is(err, driver.ErrTooLarge), !fits, size)
		check.Equal(t, len(get(t, s, r.ID).Request) == size, fits, size)
	}
}

func TestResultThatDoesNotFitIsUnavailable(t *testing.T) {
	pool := newPool(t)
	s := newStore(t, pool, &Options{MaxSize: 1000})
	// Stands for a server with a limit of its own, as Aurora DSQL has.
	execute(t, pool,
		`CREATE FUNCTION limited() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			RAISE EXCEPTION 'maximum column size exceeded' USING ERRCODE = '54000'; END $$`,
		`CREATE TRIGGER limited BEFORE INSERT OR UPDATE ON idempotency FOR EACH ROW WHEN (octet_length(NEW.data) > 500) EXECUTE FUNCTION limited()`,
	)
	for _, size := range []int{501, 1001} {
		id := strings.Repeat("i", size)
		create(t, s, claim(id, owner))
		data := strings.Repeat("d", size)
		changed, ok, err := s.Change(t.Context(), driver.Fence{ID: id, Owner: owner}, complete(data))
		if err != nil || !ok || changed.Data != nil || changed.Unavailable == "" {
			t.Errorf("Change with %d bytes: ok %v, %v, %+v", size, ok, err, changed)
		}
		again := driver.Record{ID: id + "2", Status: driver.Completed, Owner: owner, Attempt: 1, Data: []byte(data)}
		created, ok, err := s.Create(t.Context(), again, now, nil)
		if err != nil || !ok || created.Data != nil || created.Unavailable == "" {
			t.Errorf("Create with %d bytes: ok %v, %v, %+v", size, ok, err, created)
		}
		for _, r := range []driver.Record{changed, created} {
			if stored := get(t, s, r.ID); stored.Status != driver.Completed || stored.Unavailable != r.Unavailable {
				t.Errorf("stored %+v", stored)
			}
		}
	}
}

// Of a person who wants no limit.
func TestStepWithTheLargestMaxSize(t *testing.T) {
	b := newBench(t, nil, &Options{MaxSize: math.MaxInt})
	_, err := b.do(func(ctx context.Context) (string, error) {
		return idempotent.Step(ctx, "s", func(context.Context) (string, error) { return "done", nil })
	})
	check.Nil(t, err)
}
