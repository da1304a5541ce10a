package checks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/lambda-once/once/dynamo"
)

// checkSettings checks the description of the table. It returns the description, if known, and
// reports whether the items of the table can be tried.
func (t *tableCheck) checkSettings(ctx context.Context) (of *types.TableDescription, usable bool) {
	out, err := t.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name})
	var missing *types.ResourceNotFoundException
	switch {
	case errors.As(err, &missing):
		t.say("table", Wrong, "there is no table "+t.Name+" in this account and Region", "see --table, --region and --profile, or deploy it: infra.NewIdempotencyTable, or template.yaml")
		return nil, false
	case err != nil:
		return nil, t.notKnown("DynamoDB", "table", err)
	}
	usable = t.checkKeys(out.Table)
	several, strong := len(out.Table.Replicas) > 0, out.Table.MultiRegionConsistency == types.MultiRegionConsistencyStrong
	t.checkTTL(ctx, strong)
	t.checkBackups(ctx)
	t.first("deletion protection", "on",
		outcome{!aws.ToBool(out.Table.DeletionProtectionEnabled), Warning, "off: with a deleted table, all that was done is done again", "aws dynamodb update-table --table-name " + t.Name + " --deletion-protection-enabled"})
	lapsed := slices.ContainsFunc(out.Table.GlobalSecondaryIndexes, func(i types.GlobalSecondaryIndexDescription) bool {
		return aws.ToString(i.IndexName) == dynamo.LapsedIndex && i.IndexStatus == types.IndexStatusActive && len(i.KeySchema) == 1 && aws.ToString(i.KeySchema[0].AttributeName) == t.Attr.Lease
	})
	if t.resume {
		t.first("index", dynamo.LapsedIndex,
			outcome{!lapsed, Wrong, "there is no index " + dynamo.LapsedIndex + " by " + t.Attr.Lease + " that is active: handlers.Resume finds nothing", "deploy the table with it, by infra's prop Resume, or dynamo.CreateTable"})
	}
	t.first("replicas", "",
		outcome{several && strong, Warning, "strongly consistent: there are no transactions on such a table", "use neither dynamo.Collect nor Config.Optimistic with it"},
		outcome{several, Warning, "eventually consistent: callers in two Regions can both own a key", "give each key one home Region"})
	return out.Table, usable
}

func (t *tableCheck) checkKeys(d *types.TableDescription) bool {
	want := []string{t.Attr.ID + " (S), partition key"}
	if t.Attr.SortKey != "" {
		want = append(want, t.Attr.SortKey+" (S), sort key")
	}
	kinds := map[string]types.ScalarAttributeType{}
	for _, a := range d.AttributeDefinitions {
		kinds[aws.ToString(a.AttributeName)] = a.AttributeType
	}
	var is []string
	for _, key := range d.KeySchema {
		role := "partition key"
		if key.KeyType == types.KeyTypeRange {
			role = "sort key"
		}
		name := aws.ToString(key.AttributeName)
		is = append(is, fmt.Sprintf("%s (%s), %s", name, kinds[name], role))
	}
	if got := strings.Join(is, "; "); got != strings.Join(want, "; ") {
		advice := "keys cannot be changed: use another table, or say what its keys are, here with --attribute id=NAME and --sort-key, in functions with dynamo.Options.Layout"
		t.say("keys", Wrong, got+"; functions need "+strings.Join(want, "; "), advice)
		return false
	}
	t.say("keys", Fine, strings.Join(is, "; "), "")
	if d.TableStatus != types.TableStatusActive && d.TableStatus != types.TableStatusUpdating {
		t.say("status", Wrong, string(d.TableStatus), "wait until it is ACTIVE")
		return false
	}
	if len(d.LocalSecondaryIndexes) > 0 {
		t.say("indexes", Warning, "a local secondary index limits all records of one partition key to 10 GB", "use a table without one")
	}
	return true
}

func (t *tableCheck) checkTTL(ctx context.Context, strong bool) {
	const name = "time to live"
	out, err := t.Client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &t.Name})
	if err != nil {
		t.notKnown("DynamoDB", name, err)
		return
	}
	attribute := ""
	if d := out.TimeToLiveDescription; d != nil && (d.TimeToLiveStatus == types.TimeToLiveStatusEnabled || d.TimeToLiveStatus == types.TimeToLiveStatusEnabling) {
		attribute = aws.ToString(d.AttributeName)
	}
	turnOn := "aws dynamodb update-time-to-live --table-name " + t.Name + " --time-to-live-specification Enabled=true,AttributeName=" + t.Attr.Expiration
	t.first(name, "on, by "+attribute,
		outcome{attribute != "" && attribute != t.Attr.Expiration, Wrong, "by " + attribute + ", which is not " + t.Attr.Expiration + ": records are kept for ever, or deleted while they count",
			"turn it off; after an hour, " + turnOn},
		outcome{attribute == "" && strong, Warning, "off, as strong consistency across Regions has none: records are kept for ever", "run once sweep from time to time, with the permissions of infra's GrantSweep"},
		outcome{attribute == "", Warning, "off: records are kept, and paid for, for ever", turnOn})
}

func (t *tableCheck) checkBackups(ctx context.Context) {
	const name = "point-in-time recovery"
	out, err := t.Client.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &t.Name})
	if err != nil {
		t.notKnown("DynamoDB", name, err)
		return
	}
	d := out.ContinuousBackupsDescription
	on := d != nil && d.PointInTimeRecoveryDescription != nil && d.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled
	t.first(name, "on",
		outcome{!on, Warning, "off: with lost records, all that was done is done again",
			"aws dynamodb update-continuous-backups --table-name " + t.Name + " --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true"})
}

// notKnown records why a check could not be made, and reports whether the service has responded.
func (f *Findings) notKnown(service, check string, err error) bool {
	var api smithy.APIError
	switch {
	case !errors.As(err, &api):
		f.unreached(service, check, err, seeDynamoDB)
		return false
	case api.ErrorCode() == "UnknownOperationException":
		f.say(check, Warning, "not known: this server, such as DynamoDB Local, does not have the call", "")
	default:
		f.say(check, Warning, "not known: "+cmp.Or(api.ErrorMessage(), api.ErrorCode()), "once policy --for check prints the permissions")
	}
	return true
}

const seeDynamoDB = "see --endpoint, --region and --profile"

func (f *Findings) unreached(service, check string, err error, toDo string) {
	f.say(check, Wrong, service+" was not reached: "+err.Error(), toDo)
}
