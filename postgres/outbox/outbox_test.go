package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/outboxitem"
	"github.com/lambda-once/once/local/errortypes"
	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/postgres"
	"github.com/lambda-once/once/postgres/outbox"
)

func TestMain(m *testing.M) { os.Exit(postgreslocal.Main(m)) }

// A desk is an outbox and an executor that publishes to it.
type desk struct {
	*testing.T
	pool *pgxpool.Pool
	x    *idempotent.Executor
	*outbox.Outbox
}

func newDesk(t *testing.T, channel string) desk {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), postgreslocal.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	o := &postgres.Options{Outbox: "Outbox", OutboxChannel: channel, Schema: "public"}
	box := &outbox.Options{Channel: channel, Schema: "public", Interval: time.Hour}
	err = errors.Join(postgres.CreateTable(t.Context(), pool, "records", o), outbox.CreateTable(t.Context(), pool, "Outbox", box))
	if err != nil {
		t.Fatal(err)
	}
	s, err := postgres.New(pool, "records", o)
	if err != nil {
		t.Fatal(err)
	}
	x, err := idempotent.New("order", s, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := outbox.New(pool, "Outbox", box)
	if err != nil {
		t.Fatal(err)
	}
	return desk{t, pool, x, b}
}

func (d desk) call(id string, fn func(context.Context) error) error {
	_, err := idempotent.Do(d.Context(), d.x, idempotent.Key{Record: id}, func(ctx context.Context) (string, error) { return "", fn(ctx) })
	return err
}

// placed publishes messages with these aggregates, each in a call of its own.
func (d desk) placed(aggregates ...string) {
	d.Helper()
	for i, aggregate := range aggregates {
		err := d.call(fmt.Sprint("placed#", i), func(ctx context.Context) error {
			postgres.Collect(ctx).Publish(postgres.Message{Aggregate: aggregate, Destination: "d", Type: fmt.Sprint(i)})
			return nil
		})
		if err != nil {
			d.Fatal(err)
		}
	}
}

func (d desk) pending() (all []outbox.Item) {
	d.Helper()
	for item, err := range d.Pending(d.Context(), time.Now().Add(time.Hour)) {
		if err != nil {
			d.Fatal(err)
		}
		all = append(all, item)
	}
	return all
}

var ways = map[string]func(ctx context.Context, messages ...postgres.Message) error{
	"Tx": func(ctx context.Context, messages ...postgres.Message) error {
		for _, m := range messages {
			postgres.Collect(ctx).Publish(m)
		}
		return nil
	},
	"Transaction": func(ctx context.Context, messages ...postgres.Message) error {
		tx, err := postgres.Transaction(ctx)
		for _, m := range messages {
			err = errors.Join(err, postgres.Publish(tx, m))
		}
		return err
	},
}

func TestMessagesAreCommittedWithTheirCall(t *testing.T) {
	for way, send := range ways {
		t.Run(way, func(t *testing.T) {
			d := newDesk(t, "")
			errBusy := errors.New("busy")
			messages := []postgres.Message{
				{Aggregate: "order-1", Destination: "mail", Type: "placed\x00", Body: []byte{0xff, 0}, Attributes: map[string]string{"a": "b"}},
				{Aggregate: "stock-7", Destination: "stock", Body: []byte("x")},
				{Aggregate: "order-1", Destination: "mail", Type: "paid"},
			}
			for _, end := range []error{errBusy, nil, nil} {
				err := d.call("order#1", func(ctx context.Context) error { return errors.Join(send(ctx, messages...), end) })
				if !errors.Is(err, end) {
					t.Fatal(err)
				}
				if end != nil && len(d.pending()) > 0 {
					t.Error("a handler that has failed has published")
				}
			}
			got := d.pending()
			slices.SortFunc(got, func(a, b outbox.Item) int { return strings.Compare(a.Aggregate, b.Aggregate) })
			if len(got) != 2 {
				t.Fatalf("%+v", got)
			}
			first, second := outboxitem.NewID("order#1", "order-1"), outboxitem.NewID("order#1", "stock-7")
			want := []outbox.Item{
				{Aggregate: "order-1", ID: first, Created: got[0].Created, Messages: []outbox.Message{{ID: first + "-0", Message: messages[0]}, {ID: first + "-1", Message: messages[2]}}},
				{Aggregate: "stock-7", ID: second, Created: got[1].Created, Messages: []outbox.Message{{ID: second + "-0", Message: messages[1]}}},
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, want)
			}
			if age := time.Since(got[0].Created); age < -time.Second || age > time.Minute {
				t.Errorf("created %v ago", age)
			}
		})
	}
}

// Several relays publish each message once, and those of one aggregate in order.
func TestRelaysShareTheWork(t *testing.T) {
	d := newDesk(t, "")
	var aggregates []string
	for range 10 {
		aggregates = append(aggregates, "a", "b", "c")
	}
	d.placed(aggregates...)
	var mu sync.Mutex
	out := map[string][]string{}
	var relays sync.WaitGroup
	for range 4 {
		relays.Go(func() {
			for len(d.pending()) > 0 {
				_, err := d.Publish(t.Context(), 2, func(_ context.Context, item outbox.Item) error {
					mu.Lock()
					defer mu.Unlock()
					out[item.Aggregate] = append(out[item.Aggregate], item.Messages[0].Type)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	relays.Wait()
	for n, aggregate := range []string{"a", "b", "c"} {
		var want []string
		for i := range 10 {
			want = append(want, fmt.Sprint(3*i+n))
		}
		if !slices.Equal(out[aggregate], want) {
			t.Errorf("%s: %q", aggregate, out[aggregate])
		}
	}
}

// A locked item holds up what is behind it, also for another relay.
func TestItemsBehindALockedOneAreNotTaken(t *testing.T) {
	d := newDesk(t, "")
	d.placed("a", "a", "b")
	var inside []string
	_, err := d.Publish(t.Context(), 1, func(ctx context.Context, first outbox.Item) error {
		_, err := d.Publish(ctx, 10, func(_ context.Context, item outbox.Item) error {
			inside = append(inside, item.Messages[0].Type)
			return nil
		})
		return err
	})
	if err != nil || !slices.Equal(inside, []string{"2"}) {
		t.Errorf("%q, %v", inside, err)
	}
}

func TestItemThatFailsHoldsUpItsAggregate(t *testing.T) {
	d := newDesk(t, "")
	d.placed("a", "a", "b")
	errDown := errors.New("down")
	for i, want := range []int{1, 0} {
		n, err := d.Publish(t.Context(), 10, func(_ context.Context, item outbox.Item) error {
			if item.Aggregate == "a" {
				return errDown
			}
			return nil
		})
		if n != want || !errors.Is(err, errDown) {
			t.Errorf("%d: %d published, %v", i, n, err)
		}
	}
	if left := d.pending(); len(left) != 2 || left[0].Messages[0].Type != "0" {
		t.Errorf("%+v", left)
	}
}

// A relay that dies after publishing publishes again, with the same id.
func TestItemIsPublishedAgainAfterALostCommit(t *testing.T) {
	d := newDesk(t, "")
	d.placed("a")
	var ids []string
	publish := func(ctx context.Context, item outbox.Item) error {
		if ids = append(ids, item.Messages[0].ID); len(ids) == 1 {
			_, err := d.pool.Exec(ctx, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'idle in transaction'")
			return err
		}
		return nil
	}
	if n, err := d.Publish(t.Context(), 10, publish); n != 0 || err == nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := d.Publish(t.Context(), 10, publish); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if len(ids) != 2 || ids[0] != ids[1] {
		t.Errorf("%q", ids)
	}
}

// What was published is marked, even if the relay is told to stop meanwhile.
func TestStoppedRelayMarksWhatIsOut(t *testing.T) {
	d := newDesk(t, "")
	d.placed("a")
	ctx, cancel := context.WithCancel(t.Context())
	if n, err := d.Publish(ctx, 10, func(context.Context, outbox.Item) error { cancel(); return nil }); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if left := d.pending(); len(left) > 0 {
		t.Errorf("%+v", left)
	}
}

// The interval is an hour: only a notification wakes the relay.
func TestNotificationWakesARelay(t *testing.T) {
	d := newDesk(t, "Odd Channel")
	ctx, cancel := context.WithCancel(t.Context())
	out := make(chan string, 10)
	done := make(chan error)
	go func() {
		done <- d.Outbox.Run(ctx, func(_ context.Context, item outbox.Item) error { out <- item.Messages[0].Type; return nil }, func(err error) { t.Error(err) })
	}()
	for _, want := range []string{"0", "1", "2"} {
		if want == "1" { // it waits by now, or polls once more
			for d.waiting() == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		err := d.call("n#"+want, func(ctx context.Context) error {
			postgres.Collect(ctx).Publish(postgres.Message{Aggregate: "a", Destination: "d", Type: want})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := <-out; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func (d desk) waiting() (n int) {
	d.Helper()
	err := d.pool.QueryRow(d.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle' AND query LIKE 'LISTEN%'").Scan(&n)
	if err != nil {
		d.Fatal(err)
	}
	return n
}

func TestMarkAndSweep(t *testing.T) {
	d := newDesk(t, "")
	d.placed("a", "b")
	items := d.pending()
	if err := d.Mark(t.Context(), items[0].Aggregate, items[0].ID, items[0].Created); err != nil {
		t.Error(err)
	}
	var failed *postgres.Error
	for name, err := range map[string]error{
		"rewritten": d.Mark(t.Context(), "b", items[1].ID, items[1].Created.Add(-time.Second)),
		"missing":   d.Mark(t.Context(), "secret", "id", items[1].Created),
	} {
		if !errors.Is(err, outbox.ErrNotFound) || !errors.As(err, &failed) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left := d.pending(); len(left) != 1 || left[0].Aggregate != "b" {
		t.Errorf("%+v", left)
	}
	for _, c := range []struct {
		cutoff time.Time
		want   int
	}{{time.Now().Add(-time.Hour), 0}, {time.Now().Add(time.Hour), 1}, {time.Now().Add(time.Hour), 0}} {
		if n, err := d.Sweep(t.Context(), c.cutoff, 10); n != c.want || err != nil {
			t.Errorf("swept %d, %v; want %d", n, err, c.want)
		}
	}
	if left := d.pending(); len(left) != 1 {
		t.Errorf("swept what is not published: %+v", left)
	}
}

func TestRowOfAnotherProgram(t *testing.T) {
	d := newDesk(t, "")
	d.placed("a")
	if _, err := d.pool.Exec(t.Context(), `INSERT INTO "Outbox" VALUES ('z', 'z', now(), 'secret')`); err != nil {
		t.Fatal(err)
	}
	n, err := d.Publish(t.Context(), 10, func(context.Context, outbox.Item) error { return nil })
	var failed *postgres.Error
	if n != 1 || !errors.As(err, &failed) || failed.Advice == "" || strings.Contains(err.Error(), "secret") {
		t.Errorf("%d, %v", n, err)
	}
	for item, err := range d.Pending(t.Context(), time.Now().Add(time.Hour)) {
		if !errors.As(err, &failed) || item.ID != "" {
			t.Errorf("%+v, %v", item, err)
		}
	}
}

func TestMistakesInOptionsHaveAnExportedType(t *testing.T) {
	pool := new(pgxpool.Pool)
	for name, make := range map[string]func() (*outbox.Outbox, error){
		"no pool":  func() (*outbox.Outbox, error) { return outbox.New(nil, "outbox", nil) },
		"no table": func() (*outbox.Outbox, error) { return outbox.New(pool, "", nil) },
		"interval": func() (*outbox.Outbox, error) { return outbox.New(pool, "outbox", &outbox.Options{Interval: -1}) },
	} {
		if o, err := make(); o != nil || !isOptionsError(err) {
			t.Errorf("%s: %T: %v", name, err, err)
		}
	}
}

func isOptionsError(err error) bool {
	_, ok := err.(*postgres.OptionsError)
	return ok
}

func TestEveryErrorThatLeavesHasAnExportedType(t *testing.T) {
	walked, err := errortypes.Parse(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range walked.Unexplained(nil) {
		t.Error(fault)
	}
}
