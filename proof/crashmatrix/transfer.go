package crashmatrix

import (
	"context"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/local/kill"
)

const (
	opening = 100 // of either account
	amount  = 30
)

// transferIn transfers money once in a mode of examples/transfer.
func transferIn(mode string) func(context.Context, *stage) (*world, error) {
	return func(ctx context.Context, s *stage) (*world, error) {
		records, err := s.table(ctx)
		if err != nil {
			return nil, err
		}
		accounts, err := s.table(ctx)
		if err != nil {
			return nil, err
		}
		for _, id := range []string{"alice", "bob"} {
			_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &accounts, Item: map[string]types.AttributeValue{
				"id":      &types.AttributeValueMemberS{Value: id},
				"balance": &types.AttributeValueMemberN{Value: strconv.Itoa(opening)},
			}})
			if err != nil {
				return nil, err
			}
		}
		return &world{
			servers: []kill.Server{s.dynamodb()},
			env:     []string{"IDEMPOTENCY_TABLE=" + records, "ACCOUNTS_TABLE=" + accounts, "TRANSFER_MODE=" + mode},
			event:   fmt.Appendf(nil, `{"transferId":"t-1","from":"alice","to":"bob","amount":%d}`, amount),
			final:   succeeded,
			count: func(ctx context.Context, _ point) (effects, error) {
				return s.transfers(ctx, accounts)
			},
		}, nil
	}
}

// transfers derives from the balances how often each half was written.
func (s *stage) transfers(ctx context.Context, accounts string) (effects, error) {
	alice, err := s.balance(ctx, accounts, "alice")
	if err != nil {
		return effects{}, err
	}
	bob, err := s.balance(ctx, accounts, "bob")
	if err != nil {
		return effects{}, err
	}
	return transferred(alice, bob), nil
}

func transferred(alice, bob int) effects {
	debits, credits := (opening-alice)/amount, (bob-opening)/amount
	e := effects{seen: fmt.Sprintf("debits %d, credits %d", debits, credits)}
	switch {
	case alice != opening-debits*amount || bob != opening+credits*amount:
		e.wrong = fmt.Sprintf("balances %d and %d", alice, bob)
	case debits > credits:
		e.wrong = "money is lost"
	case debits < credits:
		e.wrong = "money is created"
	case debits != 1:
		e.wrong = fmt.Sprintf("transferred %d times", debits)
	}
	return e
}

func (s *stage) balance(ctx context.Context, accounts, id string) (int, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &accounts, ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
	})
	if err != nil {
		return 0, err
	}
	n, ok := out.Item["balance"].(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("the account of %s has no balance", id)
	}
	return strconv.Atoi(n.Value)
}
