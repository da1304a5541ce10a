package terraform

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// accepted are arguments with which each module works. A retention of the queue is its
// longest: the dead-letter queue's 14 days, and 4 days of the queue.
var accepted = map[string]map[string]string{
	"access": {"role_name": `"pay"`, "table": `{ name = "records", arn = "a" }`},
	"alarms": {"name": `"stage"`, "functions": `{ Pay = { function = { name = "pay", operations = ["pay"] }, queues = [{ name = "q", dead_letters_name = "d", retention_seconds = 600 }] } }`},
	"function": {
		"name": `"pay"`, "filename": `"bootstrap.zip"`, "operations": `["pay"]`, "table": `{ name = "records", arn = "a" }`,
	},
	"queue": {"name": `"pay"`, "function": `{ name = "pay", role_name = "pay", timeout = 10, retention_seconds = 18 * 86400 }`},
	"table": {"name": `"records"`},
}

// existing is an argument of the module queue.
func existing(visibility, retention, deadLetterRetention string) string {
	return fmt.Sprintf(`existing={ queue = { arn = "a", name = "q", message_retention_seconds = %s, visibility_timeout_seconds = %s }, dead_letters = { arn = "b", name = "d", message_retention_seconds = %s } }`,
		retention, visibility, deadLetterRetention)
}

// calling returns the configuration of a root that calls a module with other arguments,
// written as in "timeout=1; memory_size=128".
func calling(t *testing.T, module, change string) *Configuration {
	t.Helper()
	arguments := map[string]string{}
	for name, value := range accepted[module] {
		arguments[name] = value
	}
	for _, setting := range strings.Split(change, "; ") {
		if name, value, ok := strings.Cut(setting, "="); ok {
			arguments[name] = value
		}
	}
	text := fmt.Sprintf("module \"m\" {\nsource = \"MODULES/%s\"\n", module)
	for name, value := range arguments {
		text += name + " = " + value + "\n"
	}
	return evaluated(t, root(t, text+"}\n"))
}

// The refusals of infra's constructs, as far as Terraform can state them. Each row breaks one
// condition, and its message begins with the argument.
var refusals = []struct{ module, change, message string }{
	{"access", `operations=[]`, "operations: the list is empty"},
	{"access", `operations=["a#b"]`, "operations: one is empty, or contains"},
	{"access", `operations=[""]`, "operations: one is empty, or contains"},
	{"access", `operations=["pay"]; table={ name = "records", arn = "a", sort_key = "sk" }`, "operations: the partition key of a table with a sort key"},
	{"alarms", `functions={}`, "functions: there is nothing to watch"},
	{"alarms", `functions={ Pay = { function = { name = "pay", operations = ["ä"] } } }`, "functions: CloudWatch requires"},
	{"alarms", `name="a b"`, "name: "},
	{"alarms", `thresholds={ conflict_percent = 101 }`, "thresholds: conflict_percent"},
	{"alarms", `thresholds={ errors = -1 }`, "thresholds: one is negative"},
	{"alarms", `thresholds={ queue_age_seconds = 600 }`, "thresholds: no message of a queue reaches the age"},
	{"function", `environment={ A-B = "x" }`, "environment: a name is a letter"},
	{"function", `environment={ _HANDLER = "x" }`, "environment: a name is a letter"},
	{"function", `environment={ A = "x" }`, "environment: a name is a letter"},
	{"function", `environment={ IDEMPOTENCY_TABLE = "x" }`, "environment: AWS_LAMBDA_LOG_LEVEL, IDEMPOTENCY_TABLE and ONCE_METRICS are set"},
	{"function", `environment={ AWS_REGION = "x" }`, "environment: one is reserved by Lambda"},
	{"function", `environment={ ONCE_DISABLED = "x" }`, "environment: ONCE_DISABLED is for unit tests"},
	{"function", `log_level="TRACE"`, "log_level: "},
	{"function", `log_retention_days=2`, "log_retention_days: "},
	{"function", `memory_size=127`, "memory_size: "},
	{"function", `memory_size=10241`, "memory_size: "},
	{"function", `name="a b"`, "name: "},
	{"function", `operations=[]`, "operations: the list is empty"},
	{"function", `operations=["pay", "pay"]`, "operations: the list is empty, or names one twice"},
	{"function", `operations=["ä"]`, "operations: CloudWatch requires"},
	{"function", `retention_seconds=0`, "retention_seconds: it must be positive"},
	{"function", `table={ name = "records", arn = "a", sort_key = "sk" }`, "operations: the partition key of a table with a sort key"},
	{"function", `timeout=0`, "timeout: "},
	{"function", `timeout=901`, "timeout: "},
	{"function", `timeout=1.5`, "timeout: "},
	{"queue", `batch_size=10001; batching_window_seconds=1`, "batch_size: it must be 1 to 10,000"},
	{"queue", `batch_size=11`, "batching_window_seconds: a batch_size of more than 10 needs"},
	{"queue", `batch_size=11; dead_letter_retention_seconds=345600; fifo=true`, "batch_size: that of a FIFO queue"},
	{"queue", `batching_window_seconds=301`, "batching_window_seconds: it must be"},
	{"queue", `batching_window_seconds=1; dead_letter_retention_seconds=345600; fifo=true`, "batching_window_seconds: FIFO queues have none"},
	{"queue", `batching_window_seconds=1; function={ name = "pay", role_name = "pay", timeout = 7200, retention_seconds = 18 * 86400 }`, "batching_window_seconds: with six of the function's timeouts it is 43201 s"},
	{"queue", `dead_letter_retention_seconds=59; fifo=true`, "dead_letter_retention_seconds: it must be"},
	{"queue", `dead_letter_retention_seconds=1209601; retention_seconds=60`, "dead_letter_retention_seconds: it must be"},
	{"queue", `dead_letter_retention_seconds=345599`, "dead_letter_retention_seconds: it is less than"},
	{"queue", existing("59", "60", "60"), "existing: the queue hides a message for less than 60 s"},
	{"queue", existing("60", "600", "599"), "dead_letter_retention_seconds: it is less than"},
	{"queue", existing("60", "345601", "1209600"), "retention_seconds: a message may come 1555201 s late"},
	{"queue", strings.Replace(existing("60", "1209600", "1209600"), "arn", "fifo_queue = true, arn", 1), "retention_seconds: a message may come 3628800 s late"},
	{"queue", `fifo=true`, "retention_seconds: a message may come 1900800 s late"},
	{"queue", `max_concurrency=1`, "max_concurrency: "},
	{"queue", `max_receives=1`, "max_receives: "},
	{"queue", `name="pay.fifo"`, "name: "},
	{"queue", `retention_seconds=345601`, "retention_seconds: a message may come 1555201 s late, but its record expires after 1555200 s"},
	{"queue", `retention_seconds=59`, "retention_seconds: it must be whole seconds"},
	{"table", `name="ab"`, "name: "},
	{"table", `sort_key="id"`, "partition_key, sort_key, expiration: "},
	{"table", `sort_key="expiration"`, "partition_key, sort_key, expiration: "},
	{"table", `partition_key="expiration"`, "partition_key, sort_key, expiration: "},
}

func TestModulesRefuse(t *testing.T) {
	for _, r := range refusals {
		got := calling(t, r.module, r.change).Refusals
		argument, _, _ := strings.Cut(r.message, ":")
		if !slices.ContainsFunc(got, func(m string) bool { return strings.Contains(m, " "+r.message) }) {
			t.Errorf("%s with %s: got %q, want %q", r.module, r.change, got, r.message)
		}
		if slices.ContainsFunc(got, func(m string) bool { return !strings.Contains(m, " "+argument+":") }) {
			t.Errorf("%s with %s: got %q, want only those of %s", r.module, r.change, got, argument)
		}
	}
}

func TestModulesAcceptTheLimits(t *testing.T) {
	for _, c := range []struct{ module, change string }{
		{"access", ""},
		{"alarms", `thresholds={ queue_age_seconds = 599, conflict_percent = 100, errors = 0 }`},
		{"function", `memory_size=128; timeout=900; log_retention_days=0`},
		{"function", `restrict_to_operations=false; table={ name = "records", arn = "a", sort_key = "sk" }`},
		{"queue", ""},
		{"queue", existing("60", "345600", "1209600")},
		{"queue", `batch_size=10000; batching_window_seconds=1; max_concurrency=2; max_receives=2`},
		{"queue", `dead_letter_retention_seconds=60; fifo=true; batch_size=10`},
		{"queue", `function={ name = "pay", role_name = "pay", timeout = 7200, retention_seconds = 18 * 86400 }`},
		{"table", `sort_key="sk"`},
	} {
		if got := calling(t, c.module, c.change).Refusals; len(got) > 0 {
			t.Errorf("%s with %s: %q", c.module, c.change, got)
		}
	}
}

// A condition that no row breaks could be one that never refuses.
func TestEveryConditionRefuses(t *testing.T) {
	broken := map[string]bool{}
	for _, r := range refusals {
		for _, at := range calling(t, r.module, r.change).refused {
			broken[place(at.Filename, at.Start.Line)] = true
		}
	}
	for _, folder := range folders {
		paths, err := filepath.Glob(filepath.Join(modules, folder, "*.tf"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			body, err := parse(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range conditions(body) {
				if !broken[place(path, line)] {
					t.Errorf("%s:%d: no row breaks the condition", path, line)
				}
			}
		}
	}
}

func place(path string, line int) string {
	return fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(path)), filepath.Base(path), line)
}

func conditions(body *hclsyntax.Body) (lines []int) {
	for _, block := range body.Blocks {
		if slices.Contains([]string{"validation", "precondition"}, block.Type) {
			lines = append(lines, block.TypeRange.Start.Line)
		}
		lines = append(lines, conditions(block.Body)...)
	}
	return lines
}
