package dynamo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/dynamo/internal/recorditem"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// Whatever an item contains: a write in a shared request does to it what its own
// request does, and returns the same.
func TestSharedWriteDoesWhatItsOwnRequestDoes(t *testing.T) {
	t.Parallel()
	renamed := oddNames
	renamed.SortKey, renamed.Partition, renamed.Shards = "", "", 0
	for name, o := range map[string]*Options{
		"default":   {},
		"native":    {Data: Native, Layout: renamed},
		"composite": {Layout: oddNames},
	} {
		t.Run(name, func(t *testing.T) {
			alone, shared := inOwnTable(t, o), inOwnTable(t, o)
			shared.shareAll(1, patient)
			r := rand.New(rand.NewPCG(1, 2))
			var ok int
			for round := range 20 {
				ok += compareStores(t, r, round, alone, shared)
			}
			check.True(t, ok >= 60, ok)
		})
	}
}

// compareStores makes the same writes to the same items of both stores, and
// returns how many have succeeded.
func compareStores(t *testing.T, r *rand.Rand, round int, alone, shared *Store) (ok int) {
	t.Helper()
	const n = 12
	writes := make([]func(context.Context, *Store) (driver.Record, bool, error), n)
	say := make([]string, n)
	key := func(i int) string { return fmt.Sprintf("op#%d/%d", round, i) }
	for i := range n {
		creates := r.IntN(3) == 0
		if absent := r.IntN(8); absent > 3 || absent > 0 && !creates {
			item := anyItem(r, alone, key(i))
			putItem(t, alone, item)
			putItem(t, shared, item)
			say[i] = fmt.Sprint(attribute.PlainItem(item))
		}
		if creates {
			record, cutoff := anyRecord(r, key(i)), pick(r, now, time.Time{}, now.Add(2*time.Hour))
			say[i] += fmt.Sprintf(" Create %+v %v", record, cutoff)
			writes[i] = func(ctx context.Context, s *Store) (driver.Record, bool, error) {
				return s.Create(ctx, record, cutoff, nil)
			}
			continue
		}
		f, c := driver.Fence{ID: key(i), Owner: owner}, anyChange(r)
		say[i] += fmt.Sprintf(" Change %+v", c)
		writes[i] = func(ctx context.Context, s *Store) (driver.Record, bool, error) { return s.Change(ctx, f, c) }
	}
	var got [n]met
	together(t, n, func(ctx context.Context, i int) {
		got[i].record, got[i].ok, got[i].err = writes[i](ctx, shared)
	})
	for i, write := range writes {
		var want met
		want.record, want.ok, want.err = write(t.Context(), alone)
		if want.ok {
			ok++
		}
		check.Deep(t, got[i].record, want.record)
		check.Equal(t, got[i].ok, want.ok)
		check.Equal(t, texts(shared, got[i].err), texts(alone, want.err))
		g, w := rawItem(t, shared, key(i)), rawItem(t, alone, key(i))
		check.Deep(t, g, w)
	}
	return ok
}

// texts is the text of an error without what differs between two tables and two
// requests.
func texts(s *Store, err error) string {
	if err == nil {
		return ""
	}
	_, text, _ := strings.Cut(err.Error(), s.table)
	text, _, _ = strings.Cut(text, "operation error")
	return text
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// anyItem is what may be stored under a key: a record of Once or of another
// library, or what no reader of records accepts.
func anyItem(r *rand.Rand, s *Store, id string) map[string]types.AttributeValue {
	a, item := s.format.Attr, s.format.Key(id)
	put := func(name string, usual types.AttributeValue, others ...types.AttributeValue) {
		v := usual
		if r.IntN(4) == 0 {
			v = pick(r, append(others, nil, &types.AttributeValueMemberNULL{Value: true}, &types.AttributeValueMemberBOOL{Value: true})...)
		}
		if v != nil {
			item[name] = v
		}
	}
	step := map[string]types.AttributeValue{"a": text("1")}
	put(a.Status, text("INPROGRESS"), text("COMPLETED"), text("FAILED"), text("PAUSED"), text("inprogress"))
	put(a.Owner, text(owner), text(rival), text(strings.ToUpper(owner)), text(owner+" "))
	put(a.Lease, attribute.Millis(now.Add(time.Minute)), attribute.Number(0), attribute.Millis(now), attribute.Millis(now.Add(time.Hour)), text("1"))
	put(a.Expiration, attribute.Seconds(now.Add(time.Hour)), attribute.Number(0), attribute.Seconds(now), text("1"))
	put(a.Attempt, attribute.Number(1), attribute.Number(2), attribute.Number(0))
	put(a.Steps, &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}, &types.AttributeValueMemberM{Value: step}, text(""), text("a"),
		&types.AttributeValueMemberL{Value: []types.AttributeValue{}}, &types.AttributeValueMemberB{Value: []byte{}}, attribute.Number(0))
	put(a.Validation, text("f"), text("g"), text(""))
	put(a.Data, nil, text(`"old"`), recorditem.Unavailable("why"), recorditem.Elsewhere("ref"))
	put("another program's", nil, text("x"))
	return item
}

func anyRecord(r *rand.Rand, id string) driver.Record {
	record := driver.Record{
		ID: id, Status: pick(r, driver.InProgress, driver.Completed, driver.Failed), Owner: pick(r, owner, rival, ""),
		Attempt: int64(r.IntN(3)), Refunds: int64(r.IntN(2)), Lease: pick(r, now.Add(time.Minute), driver.LeaseEnded, time.Time{}),
		Expires: pick(r, now.Add(time.Hour), time.Unix(0, 0), time.Time{}), Fingerprint: pick(r, "f", ""),
	}
	if record.Status != driver.InProgress {
		record.Data, record.Payload, record.Unavailable = anyResult(r)
	}
	return record
}

func anyResult(r *rand.Rand) (data []byte, payload, unavailable string) {
	switch r.IntN(4) {
	case 0:
		return nil, "ref\xff", ""
	case 1:
		return nil, "", strings.Repeat("why ", 1000)
	default:
		return pick(r, nil, []byte{}, []byte("null"), []byte(`{"a":[1,{"b":null}],"c":""}`), []byte("\xff\x00"), []byte(`"`+strings.Repeat("é", 3000)+`"`)), "", ""
	}
}

func anyChange(r *rand.Rand) driver.Change {
	expires := pick(r, now.Add(2*time.Hour), time.Unix(0, 0), time.Time{})
	switch r.IntN(6) {
	case 0:
		return driver.Change{Release: driver.ReleaseDelete}
	case 1:
		return driver.Change{Release: driver.ReleaseKeep}
	case 2:
		return driver.Change{Lease: pick(r, now.Add(30*time.Minute), now.Add(time.Minute), now, driver.LeaseEnded), Expires: expires}
	case 3:
		return driver.Change{Steps: map[string][]byte{pick(r, "a", "a.b", "日本", "?", "SELECT"): pick(r, nil, []byte{}, []byte("1"), []byte("\xff")), "b": []byte("2")}, Expires: expires}
	default:
		c := driver.Change{Status: pick(r, driver.Completed, driver.Failed), Expires: expires}
		c.Data, c.Payload, c.Unavailable = anyResult(r)
		return c
	}
}
