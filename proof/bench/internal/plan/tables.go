package plan

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
)

// fill makes a table of n finished records.
func (r *run) fill(ctx context.Context, n int) error {
	if n == 0 || r.filled[n] != "" {
		return nil
	}
	began, table := time.Now(), fmt.Sprintf("%s-records-%d", r.tables, n)
	if err := dynamo.CreateTable(ctx, r.servers.Client, table, nil); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	const most = 25 // of a request
	chunks := make(chan int)
	var writing sync.WaitGroup
	for range 8 {
		writing.Go(func() {
			for first := range chunks {
				if err := r.write(ctx, table, first, min(first+most, n)); err != nil {
					cancel(err)
				}
			}
		})
	}
	for first := 0; first < n && ctx.Err() == nil; first += most {
		chunks <- first
	}
	close(chunks)
	writing.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.filled[n] = table
	_, err := fmt.Fprintf(r.log, "a table of %d records: %.0f s\n", n, time.Since(began).Seconds())
	return err
}

// write puts the records from first up to end.
func (r *run) write(ctx context.Context, table string, first, end int) error {
	expires := strconv.FormatInt(time.Now().Add(24*time.Hour).Unix(), 10)
	var puts []types.WriteRequest
	for i := first; i < end; i++ {
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: map[string]types.AttributeValue{
			"id":         &types.AttributeValueMemberS{Value: fmt.Sprintf("create-payment#%064x", i)},
			"status":     &types.AttributeValueMemberS{Value: "COMPLETED"},
			"owner":      &types.AttributeValueMemberS{Value: "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
			"attempt":    &types.AttributeValueMemberN{Value: "1"},
			"expiration": &types.AttributeValueMemberN{Value: expires},
			"validation": &types.AttributeValueMemberS{Value: fmt.Sprintf("%064x", i)},
			"data":       &types.AttributeValueMemberS{Value: `{"charge":"ch_8e03978e4b5f"}`},
		}}})
	}
	for len(puts) > 0 {
		out, err := r.servers.Client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: puts}})
		if err != nil {
			return err
		}
		puts = out.UnprocessedItems[table]
	}
	return nil
}
