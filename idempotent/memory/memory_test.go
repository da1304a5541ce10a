package memory_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/storetest"
	"github.com/lambda-once/once/internal/check"
)

func TestMemory(t *testing.T) {
	depth, schedules := 5, 5000
	if testing.Short() {
		depth, schedules = 3, 500
	}
	storetest.Run(t, func(*testing.T) storetest.Harness {
		m := memory.New(0)
		return storetest.Harness{
			Store: m,
			Plant: func(t *testing.T, r driver.Record) {
				check.Must(t, m.Put(r))
			},
			Depth:     depth,
			Schedules: schedules,
		}
	})
}

var noon = time.Date(2100, 1, 1, 12, 0, 0, 0, time.UTC)

func held(id string, expires time.Time) driver.Record {
	return driver.Record{ID: id, Status: driver.InProgress, Owner: "owner of " + id, Attempt: 1,
		Lease: noon, Expires: expires}
}

func create(t *testing.T, m *memory.Store, r driver.Record, over time.Time) error {
	t.Helper()
	met, ok, err := m.Create(t.Context(), r, over, nil)
	if err == nil && !ok {
		t.Fatalf("%s meets %+v", r.ID, met)
	}
	return err
}

func status(t *testing.T, m *memory.Store, id string) driver.Status {
	t.Helper()
	r, err := m.Get(t.Context(), id)
	check.Must(t, err)
	return r.Status
}

func TestMemoryFull(t *testing.T) {
	m := memory.New(3)
	for i, id := range []string{"a", "b", "c"} {
		check.Must(t, create(t, m, held(id, noon.Add(time.Duration(i)*time.Hour)), noon))
	}
	err := create(t, m, held("d", noon.Add(time.Hour)), noon)
	var full *memory.FullError
	if !errors.As(err, &full) || full.Limit != 3 || !errors.Is(err, driver.ErrUnavailable) {
		t.Fatalf("error %v; want a *FullError for 3 records that wraps ErrUnavailable", err)
	}
	check.Says(t, err, "3", "does not tell the limit")
	// A duplicate needs no room.
	_, ok, err := m.Create(t.Context(), held("a", noon), noon, nil)
	check.False(t, ok)
	check.Nil(t, err)
	err = m.Put(held("d", noon))
	full = check.As[*memory.FullError](t, err, "Put into a full store")
}

func TestMemoryDropsOnlyWhatIsOver(t *testing.T) {
	m := memory.New(3)
	beating := held("beating", noon.Add(-time.Hour))
	beating.Lease = noon.Add(time.Hour)
	for _, r := range []driver.Record{
		beating,
		held("live", noon.Add(time.Hour)),
		held("over", noon.Add(-time.Second)),
	} {
		check.Must(t, m.Put(r))
	}
	if err := create(t, m, held("early", noon.Add(time.Hour)), noon); err == nil {
		t.Fatal("a record was dropped at the very millisecond of its lease")
	}
	check.Must(t, create(t, m, held("new", noon.Add(time.Hour)), noon.Add(time.Millisecond)))
	for id, want := range map[string]driver.Status{
		"beating": driver.InProgress, "live": driver.InProgress, "new": driver.InProgress, "over": driver.Absent,
	} {
		check.Equal(t, status(t, m, id), want, id)
	}
}

// A change may move the end of a record in either direction.
func TestMemoryFollowsChangesOfTheEnd(t *testing.T) {
	m := memory.New(2)
	for _, id := range []string{"extended", "finished"} {
		check.Must(t, create(t, m, held(id, noon.Add(time.Hour)), noon))
	}
	for id, c := range map[string]driver.Change{
		"extended": {Lease: noon.Add(4 * time.Hour), Expires: noon.Add(5 * time.Hour)},
		"finished": {Status: driver.Completed, Expires: noon.Add(time.Minute)},
	} {
		if _, ok, err := m.Change(t.Context(), driver.Fence{ID: id, Owner: "owner of " + id}, c); !ok || err != nil {
			t.Fatalf("%s: ok %v, error %v", id, ok, err)
		}
	}
	over := noon.Add(time.Minute + time.Second)
	check.Must(t, create(t, m, held("new", noon.Add(9*time.Hour)), over))
	check.Equal(t, status(t, m, "finished"), driver.Absent)
	check.Failed(t, create(t, m, held("more", noon.Add(9*time.Hour)), noon.Add(4*time.Hour)), "the extended record was dropped")
}

func TestMemoryStaysBounded(t *testing.T) {
	const limit, callers, each = 50, 8, 2000
	m := memory.New(limit)
	var done sync.WaitGroup
	for caller := range callers {
		done.Go(func() {
			for i := range each {
				at := noon.Add(time.Duration(i) * time.Minute)
				r := held(fmt.Sprint(caller, "/", i), at)
				r.Lease = at
				var full *memory.FullError
				if _, _, err := m.Create(t.Context(), r, at, nil); err != nil && !errors.As(err, &full) {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	var stored int
	for caller := range callers {
		for i := range each {
			if status(t, m, fmt.Sprint(caller, "/", i)) != driver.Absent {
				stored++
			}
		}
	}
	check.Differ(t, stored, 0)
	check.True(t, stored <= limit, stored)
}

// The benchmark of the core is measured against this store.
func TestMemoryDuplicateAllocatesNothing(t *testing.T) {
	m := memory.New(0)
	done := held("a", noon.Add(time.Hour))
	done.Status, done.Data = driver.Completed, []byte(`{"id":1}`)
	for _, r := range []driver.Record{done, held("b", noon.Add(time.Hour))} {
		check.Must(t, create(t, m, r, noon))
		n := testing.AllocsPerRun(100, func() {
			if _, ok, err := m.Create(t.Context(), r, noon, nil); ok || err != nil {
				t.Fatal(ok, err)
			}
		})
		check.True(t, n <= 0, n, r.Status)
	}
}
