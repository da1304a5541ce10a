package main

import (
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
func (t *table) checkSettings(ctx context.Context, found *findings) (of *types.TableDescription, usable bool) {
	out, err := t.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.name})
	var missing *types.ResourceNotFoundException
	switch {
	case errors.As(err, &missing):
		found.say("table", wrong, "there is no table "+t.name+" in this account and Region", "see --table, --region and --profile, or deploy it: infra.NewIdempotencyTable, or template.yaml")
		return nil, false
	case err != nil:
		return nil, found.notKnown("table", err)
	}
	usable = t.checkKeys(out.Table, found)
	several, strong := len(out.Table.Replicas) > 0, out.Table.MultiRegionConsistency == types.MultiRegionConsistencyStrong
	t.checkTTL(ctx, strong, found)
	t.checkBackups(ctx, found)
	found.first("deletion protection", "on",
		outcome{!aws.ToBool(out.Table.DeletionProtectionEnabled), warning, "off: with a deleted table, all that was done is done again", "aws dynamodb update-table --table-name " + t.name + " --deletion-protection-enabled"})
	lapsed := slices.ContainsFunc(out.Table.GlobalSecondaryIndexes, func(i types.GlobalSecondaryIndexDescription) bool {
		return aws.ToString(i.IndexName) == dynamo.LapsedIndex && i.IndexStatus == types.IndexStatusActive && len(i.KeySchema) == 1 && aws.ToString(i.KeySchema[0].AttributeName) == t.attr.Lease
	})
	if t.resume {
		found.first("index", dynamo.LapsedIndex,
			outcome{!lapsed, wrong, "there is no index " + dynamo.LapsedIndex + " by " + t.attr.Lease + " that is active: handlers.Resume finds nothing", "deploy the table with it, by infra's prop Resume, or dynamo.CreateTable"})
	}
	found.first("replicas", "",
		outcome{several && strong, warning, "strongly consistent: there are no transactions on such a table", "use neither dynamo.Collect nor Config.Optimistic with it"},
		outcome{several, warning, "eventually consistent: callers in two Regions can both own a key", "give each key one home Region"})
	return out.Table, usable
}

func (t *table) checkKeys(d *types.TableDescription, found *findings) bool {
	want := []string{t.attr.ID + " (S), partition key"}
	if t.attr.SortKey != "" {
		want = append(want, t.attr.SortKey+" (S), sort key")
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
		found.say("keys", wrong, got+"; functions need "+strings.Join(want, "; "), advice)
		return false
	}
	found.say("keys", fine, strings.Join(is, "; "), "")
	if d.TableStatus != types.TableStatusActive && d.TableStatus != types.TableStatusUpdating {
		found.say("status", wrong, string(d.TableStatus), "wait until it is ACTIVE")
		return false
	}
	if len(d.LocalSecondaryIndexes) > 0 {
		found.say("indexes", warning, "a local secondary index limits all records of one partition key to 10 GB", "use a table without one")
	}
	return true
}

func (t *table) checkTTL(ctx context.Context, strong bool, found *findings) {
	const name = "time to live"
	out, err := t.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &t.name})
	if err != nil {
		found.notKnown(name, err)
		return
	}
	attribute := ""
	if d := out.TimeToLiveDescription; d != nil && (d.TimeToLiveStatus == types.TimeToLiveStatusEnabled || d.TimeToLiveStatus == types.TimeToLiveStatusEnabling) {
		attribute = aws.ToString(d.AttributeName)
	}
	turnOn := "aws dynamodb update-time-to-live --table-name " + t.name + " --time-to-live-specification Enabled=true,AttributeName=" + t.attr.Expiration
	found.first(name, "on, by "+attribute,
		outcome{attribute != "" && attribute != t.attr.Expiration, wrong, "by " + attribute + ", which is not " + t.attr.Expiration + ": records are kept for ever, or deleted while they count",
			"turn it off; after an hour, " + turnOn},
		outcome{attribute == "" && strong, warning, "off, as strong consistency across Regions has none: records are kept for ever", "run once sweep from time to time, with the permissions of infra's GrantSweep"},
		outcome{attribute == "", warning, "off: records are kept, and paid for, for ever", turnOn})
}

func (t *table) checkBackups(ctx context.Context, found *findings) {
	const name = "point-in-time recovery"
	out, err := t.client.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &t.name})
	if err != nil {
		found.notKnown(name, err)
		return
	}
	d := out.ContinuousBackupsDescription
	on := d != nil && d.PointInTimeRecoveryDescription != nil && d.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled
	found.first(name, "on",
		outcome{!on, warning, "off: with lost records, all that was done is done again",
			"aws dynamodb update-continuous-backups --table-name " + t.name + " --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true"})
}

// notKnown records why a check could not be made, and reports whether DynamoDB has
// responded.
func (f *findings) notKnown(check string, err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		f.say(check, wrong, "DynamoDB was not reached: "+err.Error(), "see --endpoint, --region and --profile")
		return false
	}
	switch api.ErrorCode() {
	case accessDenied:
		f.say(check, warning, "not known: "+api.ErrorMessage(), "have somebody check it who may")
	case "UnknownOperationException":
		f.say(check, warning, "not known: this server, such as DynamoDB Local, does not have the call", "")
	default:
		f.say(check, warning, "not known: "+api.ErrorCode()+": "+api.ErrorMessage(), "")
	}
	return true
}
