package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// edit is a change of an item. The empty edit deletes it.
type edit struct {
	set    map[string]types.AttributeValue
	remove []string
}

func (e *edit) deletes() bool { return len(e.set) == 0 && len(e.remove) == 0 }

// apply returns the item that the edit leaves.
func (e *edit) apply(item map[string]types.AttributeValue) map[string]types.AttributeValue {
	if e.deletes() {
		return nil
	}
	after := maps.Clone(item)
	maps.Copy(after, e.set)
	for _, name := range e.remove {
		delete(after, name)
	}
	return after
}

// asShown returns the condition of every write: the record is as the operator has
// seen it. Owner and lease alone are not enough: Powertools writes no owner, and a
// lease only if it knows one.
func (t *table) asShown(x *expression, item map[string]types.AttributeValue) string {
	a := &t.attr
	var all []string
	for _, name := range []string{a.Status, a.Owner, a.Attempt, a.Refunds, a.Lease, a.Expiration, a.Validation, a.Data, a.Steps} {
		if v, ok := item[name]; ok {
			all = append(all, x.name(name)+" = "+x.value(v))
		} else {
			all = append(all, "attribute_not_exists("+x.name(name)+")")
		}
	}
	return strings.Join(all, " AND ")
}

// write makes the edit if the record is as shown. Otherwise it returns an error,
// and the record as it is now, or nil if it is gone.
func (t *table) write(ctx context.Context, shown *record, e *edit) (changed *record, err error) {
	key, err := t.key(shown.id)
	if err != nil {
		return nil, err
	}
	x := &expression{names: map[string]string{}, values: map[string]types.AttributeValue{}}
	condition := t.asShown(x, shown.item)
	var calls sent
	if e.deletes() {
		_, err = t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			ConditionExpression: &condition, ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.values,
			Key: key, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld, TableName: &t.name,
		}, calls.options)
	} else {
		var sets, removes []string
		for name, v := range e.set {
			sets = append(sets, x.name(name)+" = "+x.value(v))
		}
		for _, name := range e.remove {
			removes = append(removes, x.name(name))
		}
		update := "SET " + strings.Join(sets, ", ")
		if len(removes) > 0 {
			update += " REMOVE " + strings.Join(removes, ", ")
		}
		_, err = t.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			ConditionExpression: &condition, ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.values,
			Key: key, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld, TableName: &t.name,
			UpdateExpression: &update,
		}, calls.options)
	}
	want := e.apply(shown.item)
	met, lost, err := t.lost(ctx, shown.id, err)
	switch {
	case err != nil && calls.unacknowledged:
		return nil, endf(codeUnacknowledged, "the record may have been written; inspect it before you repeat the command: %w", err)
	case err != nil:
		return nil, fmt.Errorf("nothing was written: %w", err)
	case lost && !t.same(met, want):
		if len(met) > 0 {
			changed = t.record(met)
		}
		if calls.unacknowledged {
			return changed, endf(codeUnacknowledged, "the record has changed since it was shown, and may have been written in between; inspect it before you repeat the command")
		}
		return changed, endf(codeChanged, "the record has changed since it was shown; nothing was written")
	default:
		// Not lost, or the record is as wanted: the SDK has sent the write again,
		// as its first response did not arrive.
		return nil, nil
	}
}

// same compares all but the result, as DynamoDB may return its numbers in another
// form. The operator's token, or what a release leaves, is enough.
func (t *table) same(met, want map[string]types.AttributeValue) bool {
	if len(met) == 0 || len(want) == 0 {
		return len(met) == len(want)
	}
	met, want = maps.Clone(met), maps.Clone(want)
	delete(met, t.attr.Data)
	delete(want, t.attr.Data)
	return reflect.DeepEqual(met, want)
}

// lost tells a lost race, and the item that it met, from a call that failed.
func (t *table) lost(ctx context.Context, id string, err error) (met map[string]types.AttributeValue, lost bool, _ error) {
	var failed *types.ConditionalCheckFailedException
	var inTransaction *types.TransactionConflictException
	var inOtherRegion *types.ReplicatedWriteConflictException
	switch {
	case err == nil:
		return nil, false, nil
	case errors.As(err, &failed):
		return failed.Item, true, nil
	case errors.As(err, &inTransaction), errors.As(err, &inOtherRegion):
		r, err := t.get(ctx, id)
		var end *ending
		if errors.As(err, &end) && end.code == codeNoRecord {
			return nil, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		return r.item, true, nil
	default:
		return nil, false, t.failed(err)
	}
}
