package crashmatrix

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/kill"
	"github.com/lambda-once/once/internal/orderevents"
	"github.com/lambda-once/once/internal/providers"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/proof/internal/tables"
)

// requested returns services that received a request at each of the paths.
func requested(t *testing.T, c checkout, paths ...string) *providers.Providers {
	t.Helper()
	services := providers.New()
	request(t, services, c, paths...)
	return services
}

func request(t *testing.T, services *providers.Providers, c checkout, paths ...string) {
	t.Helper()
	for i, path := range paths {
		body := `{"card":"` + c.card + `"}`
		if path == release || path == refund {
			body = `{"id":"` + made(services, path) + `"}`
		}
		in := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		in.Header.Set("Idempotency-Key", string(rune('a'+i)))
		services.ServeHTTP(httptest.NewRecorder(), in)
	}
	if n := len(services.Effects()); n != len(paths) {
		t.Fatalf("%d effects of %q", n, paths)
	}
}

// made returns the ID that a request to a path undoes.
func made(services *providers.Providers, path string) (id string) {
	undone := map[string]string{release: reserve, refund: charge}[path]
	for _, e := range services.Effects() {
		if e.Path == undone {
			id = e.ID
		}
	}
	return id
}

// A mix of done and undone steps is wrong.
func TestWhatIsLeftOfACheckout(t *testing.T) {
	placed, declined := checkout{}, checkout{card: providers.Declined, failure: "CardDeclinedError"}
	refused, forgetful := checkout{exists: true, failure: "OrderExistsError"}, checkout{forgetful: true}
	charging := after(5, "services", "POST "+charge)
	recording := kill.Point{Call: lambdaruntime.Call{Operation: "UpdateItem"}, At: lambdaruntime.Before, Behind: "POST " + charge}
	recorded := kill.Point{Call: lambdaruntime.Call{Operation: "UpdateItem"}, At: lambdaruntime.After, Behind: "POST " + charge}
	for name, c := range map[string]struct {
		checkout
		paths            []string
		orders, messages int
		at               kill.Point
		wrong            bool
	}{
		"placed":                        {placed, []string{reserve, charge}, 1, 1, charging, false},
		"without its message":           {placed, []string{reserve, charge}, 1, 0, charging, true},
		"a message of nothing":          {placed, []string{reserve, charge}, 0, 1, charging, true},
		"charged twice":                 {placed, []string{reserve, charge, charge}, 1, 1, charging, true},
		"not charged":                   {placed, []string{reserve}, 1, 1, charging, true},
		"placed and released":           {placed, []string{reserve, charge, release}, 1, 1, charging, true},
		"twice, killed behind it":       {forgetful, []string{reserve, charge, charge}, 1, 1, charging, false},
		"twice, killed before the note": {forgetful, []string{reserve, charge, charge}, 1, 1, recording, false},
		"twice, noted":                  {forgetful, []string{reserve, charge, charge}, 1, 1, recorded, true},
		"three times":                   {forgetful, []string{reserve, charge, charge, charge}, 1, 1, charging, true},
		"twice, the other step":         {forgetful, []string{reserve, reserve, charge}, 1, 1, charging, true},
		"declined":                      {declined, []string{reserve, release}, 0, 0, charging, false},
		"declined and kept":             {declined, []string{reserve}, 0, 0, charging, true},
		"declined and placed":           {declined, []string{reserve, release}, 1, 1, charging, true},
		"refused":                       {refused, []string{reserve, charge, refund, release}, 0, 0, charging, false},
		"refused and half undone":       {refused, []string{reserve, charge, refund}, 0, 0, charging, true},
		"refused and placed":            {refused, []string{reserve, charge, refund, release}, 1, 1, charging, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := &kill.Run{Point: c.at}
			if wrong := c.judge(requested(t, c.checkout, c.paths...), c.orders, c.messages, r); (wrong != nil) != c.wrong {
				t.Errorf("%s: %v", r.Seen, wrong)
			}
		})
	}
}

// What is half done counts before the client is back, who would finish it.
func TestWhatAResumerLeaves(t *testing.T) {
	server, err := tables.Start(t.Context(), nil)
	check.Must(t, err)
	s := &stage{Server: server}
	defer func() { check.Nil(t, s.close()) }()
	for name, c := range map[string]struct {
		record driver.Status
		paths  []string
		want   string
	}{
		"nothing":                 {driver.Absent, nil, ""},
		"an effect of no record":  {driver.Absent, []string{reserve}, "no record is finished"},
		"a record in progress":    {driver.InProgress, []string{reserve, release}, "no record is finished"},
		"a finished record alone": {driver.Failed, []string{reserve}, "0 releases, want 1"},
		"all is undone":           {driver.Failed, []string{reserve, release}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := abandoned{checkout{card: providers.Declined, failure: "CardDeclinedError"}}
			w, err := a.set(t.Context(), s)
			check.Must(t, err)
			defer func() { check.Nil(t, w.Close()) }()
			request(t, w.services, a.checkout, c.paths...)
			if c.record != driver.Absent {
				store, _, err := w.scan(t.Context(), s)
				check.Must(t, err)
				_, _, err = store.Create(t.Context(), driver.Record{ID: "x", Status: c.record, Owner: "a", Attempt: 1, Expires: time.Now().Add(time.Hour), Lease: leaseOf(c.record)}, time.Time{}, nil)
				check.Must(t, err)
			}
			broken, err := w.left(t.Context(), s, new(kill.Run))
			check.Must(t, err)
			if c.want == "" {
				check.Nil(t, broken)
			} else {
				check.Says(t, broken, c.want)
			}
		})
	}
}

func leaseOf(s driver.Status) time.Time {
	if s == driver.InProgress {
		return time.Now()
	}
	return time.Time{}
}

func TestWhatAResumerReports(t *testing.T) {
	for payload, c := range map[string]struct{ complete, more bool }{
		`{"operation":"checkout","complete":true}`:              {true, false},
		`{"operation":"checkout","resumed":1,"complete":true}`:  {true, true},
		`{"operation":"checkout","complete":false}`:             {false, true},
		`{"operation":"checkout","failed":1,"complete":true}`:   {false, true},
		`{"operation":"checkout","waiting":1,"complete":true}`:  {false, true},
		`{"operation":"checkout","left":1,"complete":true}`:     {false, true},
		`{"errorType":"StoreError","errorMessage":"no answer"}`: {false, true},
	} {
		r := lambdaruntime.Response{Payload: []byte(payload)}
		check.Equal(t, isComplete(r), c.complete, payload)
		check.Equal(t, nothingMore(lambdaruntime.Response{}, r) != nil, c.more, payload)
	}
}

func TestWhatIsOutOfAnOutbox(t *testing.T) {
	type message = orderevents.Message
	placed1, paid1 := message{Body: "o-1 placed", Group: "o-1", DeduplicationID: "1-0"}, message{Body: "o-1 paid", Group: "o-1", DeduplicationID: "1-1"}
	shipped1 := message{Body: "o-1 shipped", Group: "o-1", DeduplicationID: "3-0"}
	placed2 := message{Body: "o-2 placed", Group: "o-2", DeduplicationID: "2-0"}
	renamed, taken := placed2, placed2
	renamed.DeduplicationID, taken.DeduplicationID = "2-0 again", "1-0"
	for name, c := range map[string]struct {
		all   []message
		wrong bool
	}{
		"all":                  {[]message{placed1, placed2, paid1, shipped1}, false},
		"some twice":           {[]message{placed1, placed2, placed1, placed2, paid1, shipped1}, false},
		"one is missing":       {[]message{placed1, placed2, paid1}, true},
		"another order":        {[]message{paid1, placed1, placed2, shipped1}, true},
		"another, of two":      {[]message{placed1, shipped1, paid1, placed2}, true},
		"twice, with two ids":  {[]message{placed1, placed2, paid1, shipped1, renamed}, true},
		"two with one id":      {[]message{placed1, paid1, shipped1, taken}, true},
		"nothing":              {nil, true},
		"overtaken in a retry": {[]message{placed1, placed2, paid1, shipped1, placed1}, false}, // the queue knows its id
	} {
		t.Run(name, func(t *testing.T) {
			if seen, wrong := sent(c.all); (wrong != nil) != c.wrong {
				t.Errorf("%s: %v", seen, wrong)
			}
		})
	}
}
