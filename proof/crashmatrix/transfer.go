package crashmatrix

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/internal/kill"
	"github.com/lambda-once/once/local/postgreslocal"
)

const (
	opening = 100 // of either account
	amount  = 30
)

// account is an account of examples/transfer.
type account struct {
	ID      string `dynamodbav:"id"`
	Balance int    `dynamodbav:"balance"`
}

// transferIn transfers money once in a mode of examples/transfer.
func transferIn(mode string) func(context.Context, *stage) (*kill.World, error) {
	return func(ctx context.Context, s *stage) (*kill.World, error) {
		records, err := s.Create(ctx)
		if err != nil {
			return nil, err
		}
		accounts, err := s.Create(ctx)
		if err != nil {
			return nil, err
		}
		for _, id := range []string{"alice", "bob"} {
			item, err := attributevalue.MarshalMap(account{id, opening})
			if err != nil {
				return nil, err
			}
			if _, err := s.PutItem(ctx, &dynamodb.PutItemInput{TableName: &accounts, Item: item}); err != nil {
				return nil, err
			}
		}
		w := transfer(mode, s.dynamodb(), "IDEMPOTENCY_TABLE="+records, "ACCOUNTS_TABLE="+accounts)
		w.Check = func(ctx context.Context, r *kill.Run) (broken, err error) {
			items, err := s.Items(ctx, accounts)
			if err != nil {
				return nil, err
			}
			var all []account
			if err := attributevalue.UnmarshalListOfMaps(items, &all); err != nil {
				return nil, err
			}
			return transferred(r, all), nil
		}
		return w, nil
	}
}

// transferInPostgreSQL does so in a PostgreSQL database of its own.
func transferInPostgreSQL(mode string) func(context.Context, *stage) (*kill.World, error) {
	return func(ctx context.Context, s *stage) (*kill.World, error) {
		url, err := s.postgres.NewDatabase(ctx, "crashmatrix")
		if err != nil {
			return nil, err
		}
		open := fmt.Sprintf("INSERT INTO accounts VALUES ('alice', %d), ('bob', %d)", opening, opening)
		if _, err := postgreslocal.Run(ctx, url, s.schema, open); err != nil {
			return nil, err
		}
		w := transfer(mode, kill.Server{Name: "postgres", Variable: "DATABASE_URL", URL: url}, "IDEMPOTENCY_TABLE=idempotency")
		w.Close = func() error { return s.postgres.DropDatabase(context.WithoutCancel(ctx), url) }
		w.Check = func(ctx context.Context, r *kill.Run) (broken, err error) {
			rows, err := postgreslocal.Run(ctx, url, "SELECT id, balance FROM accounts")
			if err != nil {
				return nil, err
			}
			var all []account
			for _, row := range rows {
				balance, err := strconv.Atoi(row[1])
				if err != nil {
					return nil, err
				}
				all = append(all, account{row[0], balance})
			}
			return transferred(r, all), nil
		}
		return w, nil
	}
}

// transfer returns the world of a transfer, whose effects are not checked yet.
func transfer(mode string, server kill.Server, env ...string) *kill.World {
	return &kill.World{
		Servers: []kill.Server{server},
		Env:     append(env, "TRANSFER_MODE="+mode),
		Event:   fmt.Appendf(nil, `{"transferId":"t-1","from":"alice","to":"bob","amount":%d}`, amount),
		Final:   succeeded,
	}
}

// transferred derives from the balances how often each half was written.
func transferred(r *kill.Run, accounts []account) (broken error) {
	if len(accounts) != 2 {
		return fmt.Errorf("%d accounts", len(accounts))
	}
	balance := map[string]int{}
	for _, a := range accounts {
		balance[a.ID] = a.Balance
	}
	alice, bob := balance["alice"], balance["bob"]
	debits, credits := (opening-alice)/amount, (bob-opening)/amount
	r.Seen = fmt.Sprintf("debits %d, credits %d", debits, credits)
	switch {
	case alice != opening-debits*amount || bob != opening+credits*amount:
		return fmt.Errorf("balances %d and %d", alice, bob)
	case debits > credits:
		return errors.New("money is lost")
	case debits < credits:
		return errors.New("money is created")
	case debits != 1:
		return fmt.Errorf("transferred %d times", debits)
	}
	return nil
}
