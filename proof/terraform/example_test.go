package terraform

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/moto"
)

// The example is deployed to moto, which stands in for AWS. SQS takes a minute: the provider waits
// until a queue is the same for a while.
func TestExample(t *testing.T) {
	t.Parallel()
	r := newRoot(t, "examples")
	r.init(t)
	r.must(t, "validate")
	r.endpoint = moto.Start(t)
	for _, function := range []string{"orders", "payments", "refunds", "relay"} {
		r.write(t, "../../../build/"+function+"/bootstrap.zip", zip)
	}
	r.must(t, "apply", "-auto-approve")

	t.Run("agrees with CDK", func(t *testing.T) {
		r.must(t, "plan", "-refresh=false", "-out=plan") // moto forgets the settings of logs
		plan := r.must(t, "show", "-json", "plan")
		for _, difference := range readDeployment(t, plan).differences(t, readCDK(t)) {
			t.Error(difference)
		}
		for _, drift := range []string{
			`"lease lost"`, "FILL(conflict, 0)", `"LapsedLeases"`, "a key came again", "Severity: ticket", `"notBreaching"`, "dynamodb:PartiQLInsert", "place-order#*",
			`"ReportBatchItemFailures"`, `"visibility_timeout_seconds":60`, `maxReceiveCount`, "aws:SecureTransport", `"attribute_name":"expiration"`, `"arm64"`,
			`"memory_size":256`, `"throttling_burst_limit":500`, `"POST /payments"`, `cloudwatch.amazonaws.com`, `"orders_queue"`, `not run`, `p99`,
			`"range_key":"id"`, `"stream_view_type"`, `"bisect_batch_on_function_error":true`, "exists", `"maximum_record_age_in_seconds":43200`,
			`"maximum_retry_attempts":10000`, `"parallelization_factor":1`, `"starting_position"`, `"on_failure"`, "dynamodb:EnclosingOperation",
			"dynamodb:GetShardIterator", `"authorization_type"`, "Url5xxCount", "messages wait too long",
		} {
			check.Contains(t, plan, drift)
			changed := strings.ReplaceAll(plan, drift, regexp.MustCompile(`[a-z0-9]`).ReplaceAllString(drift, "7"))
			check.Differ(t, len(readDeployment(t, changed).differences(t, readCDK(t))), 0, drift)
		}
	})
	t.Run("keeps records and messages", func(t *testing.T) {
		check.Contains(t, read(t, modules+"/examples/main.tf"), "prevent_destroy = true") // of both tables
		_, err := r.run(t, "plan", "-destroy", "-refresh=false", "-target=module.orders_queue", "-target=module.outbox")
		check.Failed(t, err)
		refused := strings.Join(strings.Fields(err.Error()), " ")
		for _, kept := range []string{"orders_queue.terraform_data.keep_dead_letters[0]", "outbox.terraform_data.keep_failures[0]"} {
			check.Contains(t, refused, "Resource module."+kept+" has lifecycle.prevent_destroy set")
		}
	})
	t.Run("changes in place", func(t *testing.T) {
		r.write(t, "override.tf", harmless)
		changed := r.changes(t)
		for address, action := range changed {
			kind := regexp.MustCompile(`aws_\w+`).FindString(address)
			if action != "update" && (kind == "aws_dynamodb_table" || kind == "aws_sqs_queue" || action == "create") {
				t.Errorf("%s: %s", address, action)
			}
		}
		for _, name := range []string{"idempotency.aws_dynamodb_table.this", "orders_queue.aws_sqs_queue.dead_letters[0]", "orders_queue.aws_sqs_queue.this[0]", "outbox.aws_dynamodb_table.this", "outbox.aws_sqs_queue.failures"} {
			check.Equal(t, changed["module."+name], "update", name)
		}
		r.write(t, "override.tf", newKey)
		check.Equal(t, r.changes(t)["module.idempotency.aws_dynamodb_table.this"], "replace", "a new key")
	})
}

// changes returns the actions of a plan by addresses. The plan reads each resource, so it would
// create one that is not there.
func (r *root) changes(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(r.must(t, "plan", "-json")) {
		var event struct {
			Type   string
			Change struct {
				Action   string
				Resource struct{ Addr string }
			}
		}
		check.Must(t, json.Unmarshal([]byte(line), &event))
		if event.Type == "planned_change" {
			all[event.Change.Resource.Addr] = event.Change.Action
		}
	}
	return all
}

// harmless changes every variable of the modules that needs no replacement. One plan changes all
// of them, as each argument of a resource replaces it or not by itself.
const harmless = `
module "idempotency" {
  expiration  = "ttl"
  kms_key_arn = "arn:aws:kms:eu-west-1:123456789012:key/a"
  lease       = "lease"
  resume      = true
  tags        = { team = "pay" }
}
module "orders" {
  environment            = { A_B = "c" }
  group_commit           = false
  log_level              = "WARN"
  log_retention_days     = 60
  memory_size            = 512
  metrics                = false
  operations             = ["place-order", "cancel-order"]
  restrict_to_operations = false
  resume                 = true
  retention_seconds      = 2592000
  tags                   = { team = "pay" }
  timeout                = 20
}
module "orders_queue" {
  batch_size                    = 20
  batching_window_seconds       = 2
  dead_letter_retention_seconds = 1209000
  max_concurrency               = 5
  max_receives                  = 6
  retention_seconds             = 1200000
  tags                          = { team = "pay" }
}
module "outbox" {
  kms_key_arn = "arn:aws:kms:eu-west-1:123456789012:key/a"
  tags        = { team = "pay" }
}
module "alarms" {
  dashboard  = false
  notify     = []
  page       = ["arn:aws:sns:eu-west-1:123456789012:pager"]
  tags       = { team = "pay" }
  thresholds = { errors = 1 }
  ticket     = ["arn:aws:sns:eu-west-1:123456789012:mail"]
}
`

// newKey is not harmless.
const newKey = `
module "idempotency" {
  sort_key = "sk"
}
module "orders" {
  restrict_to_operations = false
}
module "payments" {
  restrict_to_operations = false
}
module "refunds" {
  restrict_to_operations = false
}
`

// Those that harmless leaves out name a resource, or what cannot change: the key of a table, and
// whether a queue is FIFO. The others are the modules' own arguments.
func TestEveryHarmlessVariableIsChanged(t *testing.T) {
	fixed := []string{"ephemeral", "existing", "fifo", "filename", "function", "functions", "name", "partition_key", "publishers", "relay", "relays", "sort_key", "table"}
	for _, folder := range []string{"alarms", "function", "outbox", "queue", "table"} {
		for _, declared := range regexp.MustCompile(`variable "(\w+)"`).FindAllStringSubmatch(read(t, filepath.Join(modules, folder, "variables.tf")), -1) {
			changed := regexp.MustCompile(`(?m)^  ` + declared[1] + ` +=`).MatchString(harmless)
			check.Equal(t, changed, !slices.Contains(fixed, declared[1]), folder, declared[1])
		}
	}
}
