package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"
)

// fillTables makes tables of finished records in DynamoDB.
func (s *servers) fillTables(ctx context.Context) error {
	for _, n := range s.tableSizes {
		began := time.Now()
		table, err := s.dynamodb.Create(ctx)
		if err != nil {
			return err
		}
		const most = 25 // of a request
		writing, ctx := errgroup.WithContext(ctx)
		writing.SetLimit(8)
		for first := 0; first < n && ctx.Err() == nil; first += most {
			writing.Go(func() error { return s.write(ctx, table, first, min(first+most, n)) })
		}
		if err := writing.Wait(); err != nil {
			return err
		}
		s.filled[n] = table
		if _, err := fmt.Fprintf(s.log, "a table of %d records: %.0f s\n", n, time.Since(began).Seconds()); err != nil {
			return err
		}
	}
	return nil
}

// write puts the records from first up to end.
func (s *servers) write(ctx context.Context, table string, first, end int) error {
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
		requests := map[string][]types.WriteRequest{table: puts}
		out, err := s.dynamodb.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: requests})
		if err != nil {
			return err
		}
		puts = out.UnprocessedItems[table]
	}
	return nil
}
