package crashmatrix

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/local/kill"
	"github.com/lambda-once/once/proof/internal/tables"
)

const (
	opening = 100 // of either account
	amount  = 30
)

// transferIn transfers money once in a mode of examples/transfer.
func transferIn(mode string) func(context.Context, *stage) (*world, error) {
	return func(ctx context.Context, s *stage) (*world, error) {
		records, err := s.Create(ctx)
		if err != nil {
			return nil, err
		}
		accounts, err := s.Create(ctx)
		if err != nil {
			return nil, err
		}
		for _, id := range []string{"alice", "bob"} {
			_, err := s.PutItem(ctx, &dynamodb.PutItemInput{TableName: &accounts, Item: tables.Item{
				"id":      &types.AttributeValueMemberS{Value: id},
				"balance": &types.AttributeValueMemberN{Value: strconv.Itoa(opening)},
			}})
			if err != nil {
				return nil, err
			}
		}
		w := transfer(mode, s.dynamodb(), "IDEMPOTENCY_TABLE="+records, "ACCOUNTS_TABLE="+accounts)
		w.count = func(ctx context.Context, _ kill.Point) (effects, error) {
			items, err := s.Items(ctx, accounts)
			balances := map[string]string{}
			for _, item := range items {
				var a struct {
					ID      string
					Balance attributevalue.Number
				}
				err = errors.Join(err, attributevalue.UnmarshalMap(item, &a))
				balances[a.ID] = a.Balance.String()
			}
			return transferred(balances, err)
		}
		return w, nil
	}
}

// transfer returns the world of a transfer, whose effects are not counted yet.
func transfer(mode string, server kill.Server, env ...string) *world {
	return &world{World: kill.World{
		Servers: []kill.Server{server},
		Env:     append(env, "TRANSFER_MODE="+mode),
		Event:   fmt.Appendf(nil, `{"transferId":"t-1","from":"alice","to":"bob","amount":%d}`, amount),
		Final:   succeeded,
	}}
}

// transferred derives from the balances how often each half was written.
func transferred(balances map[string]string, err error) (effects, error) {
	alice, errAlice := strconv.Atoi(balances["alice"])
	bob, errBob := strconv.Atoi(balances["bob"])
	if err := errors.Join(err, errAlice, errBob); err != nil {
		return effects{}, err
	}
	debits, credits := (opening-alice)/amount, (bob-opening)/amount
	e := effects{seen: fmt.Sprintf("debits %d, credits %d", debits, credits)}
	switch {
	case alice != opening-debits*amount || bob != opening+credits*amount:
		e.wrong = fmt.Errorf("balances %d and %d", alice, bob)
	case debits > credits:
		e.wrong = errors.New("money is lost")
	case debits < credits:
		e.wrong = errors.New("money is created")
	case debits != 1:
		e.wrong = fmt.Errorf("transferred %d times", debits)
	}
	return e, nil
}
