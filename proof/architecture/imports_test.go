// Package architecture tests which package may import which.
package architecture

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	root    = "../.."
	project = "github.com/lambda-once/once/"
)

// Each line allows a package to import the packages to its right, and no other one of
// the project. The order is from the bottom up.
var order = map[string]string{
	"internal/canonical":                  "",
	"internal/checked":                    "",
	"internal/form":                       "",
	"internal/jmespath":                   "internal/canonical",
	"internal/outboxitem":                 "idempotent/driver",
	"idempotent/driver":                   "idempotent/internal/options internal/form",
	"internal/policy":                     "internal/checked",
	"idempotent/internal/bounds":          "idempotent/driver",
	"idempotent/internal/cache":           "",
	"idempotent/internal/ids":             "",
	"idempotent/internal/protocol":        "idempotent/driver internal/form",
	"idempotent/memory":                   "idempotent/driver",
	"idempotent/storetest":                "idempotent idempotent/driver",
	"idempotent":                          "idempotent/driver internal/canonical internal/form",
	"idempotent/adapter":                  "idempotent idempotent/driver idempotent/internal/options",
	"idempotent/keypath":                  "idempotent internal/canonical internal/jmespath",
	"idempotent/powertools":               "idempotent idempotent/adapter idempotent/driver internal/canonical internal/jmespath",
	"idempotent/emf":                      "idempotent idempotent/driver",
	"idempotent/otel":                     "idempotent idempotent/driver",
	"idempotent/seal":                     "idempotent idempotent/driver idempotent/internal/cache",
	"idempotent/kmsseal":                  "idempotent/seal",
	"idempotent/s3payload":                "idempotent idempotent/driver",
	"dynamo/internal/attribute":           "",
	"dynamo/internal/recorditem":          "dynamo/internal/attribute idempotent/driver",
	"dynamo":                              "idempotent/driver internal/outboxitem",
	"dynamo/outbox":                       "dynamo dynamo/internal/attribute dynamo/internal/fault idempotent/driver internal/outboxitem",
	"dynamo/dynamoenv":                    "dynamo idempotent idempotent/driver idempotent/emf",
	"postgres":                            "idempotent/driver",
	"redis":                               "idempotent/driver",
	"tools":                               "idempotent idempotent/adapter idempotent/driver",
	"handlers":                            "idempotent idempotent/adapter idempotent/driver internal/checked",
	"handlers/relay":                      "handlers handlers/internal/lanes handlers/internal/panics idempotent/driver internal/outboxitem",
	"handlers/relay/sqspublisher":         "handlers/relay handlers/relay/internal/calls idempotent/driver",
	"handlers/relay/snspublisher":         "handlers/relay handlers/relay/internal/calls idempotent/driver",
	"handlers/relay/eventbridgepublisher": "handlers handlers/relay handlers/relay/internal/calls idempotent/driver",
	"handlers/httpapi":                    "handlers/internal/digest handlers/internal/lambdaerror handlers/internal/panics handlers/internal/resumable idempotent idempotent/adapter idempotent/driver internal/form",
	"handlers/durablefunc":                "handlers idempotent idempotent/adapter idempotent/driver internal/canonical",
	"httpclient":                          "",
	"internal/wire":                       "",
	"internal/kill":                       "local/lambdaruntime internal/wire",
	"proof/durable":                       "",
	"local/crashtest":                     "idempotent idempotent/driver idempotent/memory internal/kill local/lambdaruntime",
}

// What a user of a package must not link: clients of other services, and
// anything for tests. Each entry is a part of an import path; one that ends
// with "..." is its beginning.
var unlinked = map[string]string{
	"idempotent":                          "aws testing... testify jmespath httpsfv opentelemetry",
	"idempotent/memory":                   "aws testing... testify",
	"idempotent/emf":                      "aws testing... testify",
	"idempotent/seal":                     "aws testing... golang.org/x/crypto...",
	"idempotent/kmsseal":                  "service/dynamodb service/s3 testing... testify",
	"idempotent/otel":                     "go.opentelemetry.io/otel/sdk aws-sdk-go testing... testify",
	"idempotent/s3payload":                "service/dynamodb service/kms gofakes3 testing... testify",
	"dynamo":                              "aws-lambda-go aws-cdk aws-sdk-go-v2/config service/s3 service/kms service/sqs service/sns service/eventbridge jmespath httpsfv opentelemetry testing... testify",
	"dynamo/dynamoenv":                    "aws-lambda-go/events aws-cdk service/s3 service/kms service/sqs service/sns service/eventbridge jmespath httpsfv testing... testify",
	"postgres":                            "aws testing... testify",
	"redis":                               "aws testing... testify local/",
	"tools":                               "aws-sdk-go smithy-go aws-cdk net/http/httptest testing... testify",
	"handlers":                            "aws-sdk-go smithy-go aws-cdk httpsfv testing... testify",
	"handlers/durablefunc":                "aws-sdk-go smithy-go aws-cdk httpsfv testing... testify",
	"handlers/httpapi":                    "aws-sdk-go smithy-go aws-cdk testing... testify",
	"handlers/relay":                      "aws-sdk-go smithy-go aws-cdk httpsfv testing... testify",
	"handlers/relay/sqspublisher":         "service/dynamodb service/sns service/eventbridge aws-sdk-go-v2/config aws-cdk httpsfv testing... testify",
	"handlers/relay/snspublisher":         "service/dynamodb service/sqs service/eventbridge aws-sdk-go-v2/config aws-cdk httpsfv testing... testify",
	"handlers/relay/eventbridgepublisher": "service/dynamodb service/sqs service/sns aws-sdk-go-v2/config aws-cdk httpsfv testing... testify",
	"httpclient":                          "aws lambda-once/once/idempotent lambda-once/once/handlers testing... testify",
	"local/crashtest":                     "aws testify",
	"cmd/once":                            "golang.org/x/tools... golangci",
	"cmd/once/cmd/oncevet":                "aws-sdk-go jackc redis golangci lambda-once/once/idempotent testing... testify",
}

func TestPackagesImportOnlyThoseBelow(t *testing.T) {
	for pkg, allowed := range order {
		for _, imported := range list(t, pkg, `{{join .Imports "\n"}}`) {
			own, ok := strings.CutPrefix(imported, project)
			if ok && !slices.Contains(strings.Fields(allowed), own) && !strings.HasPrefix(own, pkg+"/internal/") {
				t.Errorf("%s imports %s", pkg, own)
			}
		}
	}
}

func TestEveryPublicPackageHasALine(t *testing.T) {
	for _, pkg := range in(t, root, "list", "./...") {
		own := strings.TrimPrefix(pkg, project)
		if _, ok := order[own]; !ok && !strings.HasPrefix(own, "local/") && !strings.Contains("/"+own+"/", "/internal/") {
			t.Errorf("%s is not in order", own)
		}
	}
}

func TestPackagesLinkNothingTheirUsersDoNotNeed(t *testing.T) {
	for pkg, forbidden := range unlinked {
		for _, linked := range list(t, pkg, "{{.ImportPath}}", "-deps") {
			for _, f := range strings.Fields(forbidden) {
				start, isStart := strings.CutSuffix(f, "...")
				if isStart && strings.HasPrefix(linked, start) || !isStart && strings.Contains(linked, f) {
					t.Errorf("%s links %s", pkg, linked)
				}
			}
		}
	}
}

// list returns the output of go list for a package, in its own module.
func list(t *testing.T, pkg, format string, flags ...string) []string {
	t.Helper()
	return in(t, filepath.Join(root, pkg), append(append([]string{"list"}, flags...), "-f", format, ".")...)
}
