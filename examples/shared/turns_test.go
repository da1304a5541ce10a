package main

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// values have every type of JSON, and spellings in which the libraries differ.
var values = []string{
	`true`, `1`, `-1.5`, `1.0`, `0.1`, `1e3`, `1e-7`, `123456789012`, `9007199254740991`,
	`"a"`, `"a/b\u007f\t\"\\"`, `"<&>"`, `"é"`, `"\u00e9"`, `"日本"`, `"\ud83d\ude00"`, `"\u2028"`, `"42"`, `"null"`,
	`[1,[2,["x"]],{}]`, `[null,false,0,"",1]`, `{"b":1,"a":{"Z":1,"y":2,"a":null}}`, `{"10":1,"9":2,"a":3,"-1":4,"01":5}`,
	`{"B":1,"a":2,"A":3,"b":4}`, `{"a b":{"c.d":[{"e":"f"}]}}`, `{"e":[],"o":{},"n":null,"f":false,"z":0,"s":"","t":true}`,
}

// Whichever function comes first, its counterpart finds the record under every key, and
// replays every result.
func TestEveryValueReplaysBothWays(t *testing.T) {
	t.Parallel()
	p := newPair(t, options{env: []string{"POWERTOOLS_KEY=[first, value]"}})
	records := map[string]bool{}
	for _, value := range values {
		for name, order := range map[string][2]*lambdaruntime.Runtime{
			"Once first": {p.once, p.powertools}, "Powertools first": {p.powertools, p.once},
		} {
			event := fmt.Sprintf(`{"first":%q,"value":%s,"more":[%[2]s]}`, name, value)
			first, again := mustAsk(t, order[0], event), mustAsk(t, order[1], event)
			if !reflect.DeepEqual(first, again) || first.Record == "" {
				t.Errorf("%s, %s: %+v is replayed as %+v", name, value, first, again)
			}
			records[first.Record] = true
		}
	}
	counts := p.executions(t)
	for record := range records {
		check.Equal(t, counts[record], 1, record, "times executed")
	}
	// 1 and 1.0 are one number, and é has two spellings.
	check.Equal(t, len(counts), 2*(len(values)-2), "records")
}

// Without an expression, the whole event is the key: an event that is an array, a
// string or a number as well. TypeScript uses an empty one, too, by default.
func TestWholeEventIsTheKeyOfBoth(t *testing.T) {
	t.Parallel()
	p := newPair(t, options{env: []string{"POWERTOOLS_KEY="}})
	for i, event := range []string{`"abc"`, `42`, `true`, `[1,"a"]`, `{"b":1,"a":[{}]}`, `null`, `false`, `0`, `""`, `[]`, `{}`, `{"a":0}`} {
		order := []*lambdaruntime.Runtime{p.once, p.powertools}
		first, again := mustAsk(t, order[i%2], event), mustAsk(t, order[1-i%2], event)
		if !reflect.DeepEqual(first, again) || p.executions(t)[first.Record] != 1 {
			t.Errorf("%s: %+v, %+v, executions %v", event, first, again, p.executions(t))
		}
	}
}

// A function that fails leaves nothing to replay.
func TestFailureReleasesTheRecordForTheOther(t *testing.T) {
	t.Parallel()
	nowhere := []string{"SHARED_TABLE=nowhere"}
	for name, o := range map[string]options{"Once": {onceEnv: nowhere}, "Powertools": {powertoolsEnv: nowhere}} {
		p := newPair(t, o)
		fails, works := p.once, p.powertools
		if name == "Powertools" {
			fails, works = works, fails
		}
		event := `{"id":"k"}`
		if got, err := ask(t.Context(), fails, event); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
		mustAsk(t, works, event)
		if got := mustAsk(t, fails, event); p.executions(t)[got.Record] != 1 {
			t.Errorf("%s: %+v, executions %v", name, got, p.executions(t))
		}
	}
}

// Both compare the payload of a repetition with that of the first request, under one
// hash.
func TestAnotherPayloadIsRefusedByBoth(t *testing.T) {
	t.Parallel()
	p := newPair(t, options{env: []string{"POWERTOOLS_VALIDATION=[amount, note]"}})
	for name, c := range map[string]struct {
		first, second *lambdaruntime.Runtime
		refusal       string
	}{
		"Once first":       {p.once, p.powertools, "IdempotencyValidationError"},
		"Powertools first": {p.powertools, p.once, "KeyReusedError"},
	} {
		event := func(amount string) string {
			return fmt.Sprintf(`{"id":%q,"amount":%s,"note":{"b":"é/","A":null}}`, name, amount)
		}
		first := mustAsk(t, c.first, event("100"))
		check.Deep(t, mustAsk(t, c.second, event("100.0")), first, name, "is replayed as")
		if got, err := ask(t.Context(), c.second, event("101")); deployed.Failure(err) != c.refusal {
			t.Errorf("%s: another payload gets %+v, %v", name, got, err)
		}
	}
}

// A result that a library cannot replay is an error there, in every repetition, and never
// a second execution.
func TestNumbersThatTypeScriptCannotReplayAreErrorsThere(t *testing.T) {
	t.Parallel()
	p := newPair(t, options{})
	for id, number := range map[string]string{"large": "9007199254740993", "exponent": "1e21"} {
		event := fmt.Sprintf(`{"id":%q,"value":%s}`, id, number)
		first := mustAsk(t, p.once, event)
		for range 2 {
			if got, err := ask(t.Context(), p.powertools, event); err == nil {
				t.Errorf("%s: %+v", number, got)
			}
		}
		if got := mustAsk(t, p.once, event); !reflect.DeepEqual(got, first) || p.executions(t)[first.Record] != 1 {
			t.Errorf("%s: %+v is replayed as %+v, executions %v", number, first, got, p.executions(t))
		}
	}
}

// Records have the attributes of Powertools, and more that it ignores.
func TestRecordHasTheLayoutOfPowertools(t *testing.T) {
	t.Parallel()
	p := newPair(t, options{env: []string{"POWERTOOLS_VALIDATION=id"}})
	ours := p.record(t, mustAsk(t, p.once, `{"id":"a"}`).Record)
	theirs := p.record(t, mustAsk(t, p.powertools, `{"id":"b"}`).Record)
	for name, value := range theirs {
		if name == "in_progress_expiration" { // which Once removes when it completes
			continue
		}
		check.Equal(t, reflect.TypeOf(ours[name]), reflect.TypeOf(value), name, "the type of", ours[name], value)
	}
	for name := range ours {
		if _, ok := theirs[name]; !ok && name != "owner" && name != "attempt" && name != "began" && name != "ended" {
			t.Errorf("a completed record has a %s", name)
		}
	}
}
