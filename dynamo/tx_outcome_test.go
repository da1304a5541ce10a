package dynamo

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// reason is one of a cancellation, as DynamoDB words it.
func reason(code string) string {
	if code == "None" {
		return `{"Code":"None"}`
	}
	return fmt.Sprintf(`{"Code":%q,"Message":"why"}`, code)
}

const metRecord = `{"Code":"ConditionalCheckFailed","Message":"why","Item":{"id":{"S":"op#1"},"status":{"S":"COMPLETED"},"owner":{"S":"owner-2"}}}`

func cancelling(reasons ...string) wire.Carry {
	return answering(400, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",`+
		`"Message":"Transaction cancelled","CancellationReasons":[`+strings.Join(reasons, ",")+`]}`)
}

// twoAccounts is a transaction of two additions.
func twoAccounts(t *testing.T) *Tx {
	t.Helper()
	tx := new(Tx)
	tx.Update("accounts", accountKey("secret-a"), expression.Add(expression.Name("balance"), expression.Value(-5)))
	tx.Update("accounts", accountKey("secret-b"), expression.Add(expression.Name("balance"), expression.Value(5)))
	return frozen(t, tx)
}

// What each way to cancel a transaction of the record and two additions means.
// Only a refusal of what was asked for is one: any other leaves open what an
// earlier try, whose answer was lost, has done.
func TestCancellationsBecomeErrorsWithTheirReason(t *testing.T) {
	failed, conflict, none := reason(CodeConditionFailed), reason(CodeConflict), reason("None")
	for name, c := range map[string]struct {
		answer    wire.Carry
		lost      bool
		rejected  bool
		code      string
		index     int
		busy      bool // ErrUnavailable
		throttled bool
		open      bool // whether it was committed
	}{
		"the record":                     {answer: cancelling(metRecord, none, none), lost: true},
		"the record and an addition":     {answer: cancelling(metRecord, failed, none), lost: true},
		"the record and a conflict":      {answer: cancelling(metRecord, conflict, none), lost: true},
		"an addition":                    {answer: cancelling(none, none, failed), rejected: true, code: CodeConditionFailed, index: 1},
		"both additions":                 {answer: cancelling(none, failed, failed), rejected: true, code: CodeConditionFailed, index: 0},
		"an addition and a conflict":     {answer: cancelling(none, conflict, failed), rejected: true, code: CodeConditionFailed, index: 1},
		"an addition does not fit":       {answer: cancelling(none, reason("ValidationError"), none), rejected: true, code: "ValidationError", index: 0},
		"an addition's collection":       {answer: cancelling(none, none, reason("ItemCollectionSizeLimitExceeded")), rejected: true, code: "ItemCollectionSizeLimitExceeded", index: 1},
		"a conflict":                     {answer: cancelling(none, none, conflict), code: CodeConflict, index: 1, busy: true},
		"a conflict on the record":       {answer: cancelling(conflict, none, none), code: CodeConflict, index: -1, busy: true},
		"conflict on the record, failed": {answer: cancelling(conflict, failed, none), code: CodeConflict, index: -1, busy: true},
		"throttled":                      {answer: cancelling(none, reason("ThrottlingError"), none), code: "ThrottlingError", index: 0, busy: true, throttled: true},
		"the record is throttled":        {answer: cancelling(reason("ProvisionedThroughputExceeded"), failed, none), code: "ProvisionedThroughputExceeded", index: -1, busy: true, throttled: true},
		"the record does not fit":        {answer: cancelling(reason("ValidationError"), failed, none), code: "ValidationError", index: -1},
		"an unknown reason":              {answer: cancelling(none, reason("Whim"), none), code: "Whim", index: 0},
		"too few reasons":                {answer: cancelling(none, failed)},
		"no reasons":                     {answer: cancelling(none, none, none)},
		"in progress":                    {answer: refusing(400, "TransactionInProgressException", "wait"), code: "TransactionInProgress", index: -1, busy: true, open: true},
		"validation of the whole":        {answer: refusing(400, "ValidationException", "else")},
		"denied":                         {answer: refusing(400, "AccessDeniedException", "no")},
		"no table":                       {answer: refusing(400, "ResourceNotFoundException", "no")},
		"throttled as a whole":           {answer: refusing(400, "ThrottlingException", "slow"), busy: true, throttled: true},
		"something on the way":           {answer: answering(408, `gone`), open: true},
		"a code of something else":       {answer: refusing(403, "Forbidden", "no"), open: true},
		"something with a body":          {answer: answering(400, `{}`), open: true},
		"another use of the token":       {answer: refusing(400, "IdempotentParameterMismatchException", "no"), open: true},
		"server fault":                   {answer: refusing(500, "InternalServerError", "oops"), busy: true, open: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, wireClient(c.answer), "records", nil)
			met, ok, err := s.Change(t.Context(), fence("op#1"), completion(twoAccounts(t)))
			if ok {
				t.Fatal("a success")
			}
			if c.lost {
				if err != nil || met.Owner != rival || met.Status != driver.Completed {
					t.Fatalf("%+v, %v", met, err)
				}
				return
			}
			var rejected *driver.Rejected
			check.Equal(t, errors.As(err, &rejected), c.rejected, "rejected is not")
			check.Equal(t, errors.Is(err, driver.ErrUnavailable), c.busy)
			check.Equal(t, errors.Is(err, driver.ErrThrottled), c.throttled)
			// Most responses say that this request has written nothing.
			notWritten := !c.rejected && !c.open
			check.Equal(t, errors.Is(err, driver.ErrNotWritten), notWritten, "not written is not")
			var transaction *TransactionError
			if errors.As(err, &transaction) != (c.code != "") || errors.Is(err, ErrTransaction) != (c.code != "") {
				t.Fatalf("%v", err)
			}
			if c.code != "" && (transaction.Code != c.code || transaction.Index != c.index) {
				t.Errorf("%s of addition %d: %v", transaction.Code, transaction.Index, err)
			}
			var own *Error
			if !c.rejected && (!errors.As(err, &own) || own.Op != "TransactWriteItems") {
				t.Errorf("no *Error: %v", err)
			}
			check.Lacks(t, err.Error(), "secret", "the text holds a key")
			check.Lacks(t, err.Error(), owner)
		})
	}
}

// What is refused of the messages is no addition of the handler's, and only a
// condition that does not hold asks its Else.
func TestOnlyAFailedConditionChoosesItsElse(t *testing.T) {
	none := reason("None")
	for name, c := range map[string]struct {
		answer wire.Carry
		index  int
	}{
		"the messages":           {cancelling(none, none, reason("ValidationError")), -1},
		"an addition's size":     {cancelling(none, reason("ValidationError"), none), 0},
		"an addition's conflict": {cancelling(none, reason(CodeConflict), none), 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, wireClient(c.answer), "records", &Options{Outbox: "outbox"})
			tx := new(Tx)
			tx.Put("accounts", account{ID: "a"}, If(expression.Name("id").AttributeNotExists()).
				Else(func(*TransactionError) error { return errors.New("the Else") }))
			tx.Publish(driver.OutboxMessage{Aggregate: "a", Destination: "d"})
			_, _, err := s.Change(t.Context(), fence("op#1"), completion(frozen(t, tx)))
			e := check.As[*TransactionError](t, err)
			check.Equal(t, e.Index, c.index)
		})
	}
}

// What was met is read where the reason does not bring it.
func TestTransactionReadsTheRecordThatARefusalOmits(t *testing.T) {
	bare := &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
		{Code: aws.String(CodeConditionFailed)}, {Code: aws.String("None")}, {Code: aws.String("None")},
	}}
	stored := map[string]types.AttributeValue{"id": text("op#1"), "status": text("COMPLETED"), "owner": text(rival)}
	done := claim("op#1")
	done.Status = driver.Completed
	for name, call := range map[string]func(*Store) (driver.Record, bool, error){
		"create": func(s *Store) (driver.Record, bool, error) {
			return s.Create(t.Context(), done, now, (*attachment)(twoAccounts(t)))
		},
		"change": func(s *Store) (driver.Record, bool, error) {
			return s.Change(t.Context(), fence("op#1"), completion(twoAccounts(t)))
		},
	} {
		s, client := fakeStore(t, nil, result{err: bare}, result{item: stored})
		met, ok, err := call(s)
		check.False(t, ok, name)
		check.Nil(t, err, name)
		check.Equal(t, met.Owner, rival, name)
		check.Equal(t, len(client.sent), 2, name)
	}
}

// A refusal of the result for its size is not one of the work: it is committed
// with a marker, under a token of its own.
func TestTransactionCommitsWithoutAResultTooLarge(t *testing.T) {
	large := `{"Code":"ValidationError","Message":"Item size to update has exceeded the maximum allowed size"}`
	for name, first := range map[string]error{
		"as the record's reason": apiErrorAs(t, cancelling(large, reason("None"), reason("None"))),
		"as a whole":             apiErrorAs(t, refusing(400, "ValidationException", "Item size has exceeded the maximum allowed size")),
	} {
		t.Run(name, func(t *testing.T) {
			s, client := fakeStore(t, nil, result{err: first}, result{err: errors.New("no answer")})
			c := completion(twoAccounts(t))
			if _, ok, err := s.Change(t.Context(), fence("op#1"), c); ok || err == nil {
				t.Fatal(ok, err)
			}
			got, ok, err := s.Change(t.Context(), fence("op#1"), c)
			if err != nil || !ok || got.Data != nil || !strings.Contains(got.Unavailable, "does not fit") {
				t.Fatalf("%+v, %v, %v", got, ok, err)
			}
			if len(client.sent) != 3 || client.tokens[0] == client.tokens[1] || client.tokens[1] != client.tokens[2] ||
				client.sent[0] == client.sent[1] || client.sent[1] != client.sent[2] {
				t.Errorf("tokens %q of\n%s", client.tokens, strings.Join(client.sent, "\n\n"))
			}
		})
	}
	t.Run("by DynamoDB's own count", func(t *testing.T) {
		s := uncompressed(t, inOwnTable(t, nil))
		create(t, s, claim("op#1"))
		item := rawItem(t, s, "op#1")
		item["of another program"] = &types.AttributeValueMemberB{Value: make([]byte, 300<<10)}
		putItem(t, s, item)
		counted := s.counter(t)
		c := completion(adding(t, counted))
		c.Data = []byte(`"` + strings.Repeat("a", 200<<10) + `"`)
		_, stored := change(t, s, fence("op#1"), c, true)
		check.Differ(t, stored.Unavailable, "")
		check.Equal(t, stored.Status, driver.Completed)
		check.Equal(t, counted.value(), 1)
	})
}

// apiErrorAs is an error as the SDK makes it of an answer.
func apiErrorAs(t *testing.T, answer wire.Carry) error {
	t.Helper()
	item := types.TransactWriteItem{Delete: &types.Delete{TableName: aws.String("t"), Key: map[string]types.AttributeValue{"id": text("a")}}}
	_, err := wireClient(answer).TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{item}})
	if err == nil {
		t.Fatal("no error")
	}
	return err
}
