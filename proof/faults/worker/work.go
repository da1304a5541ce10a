package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent"
)

// An Event is one request.
type Event struct {
	Key string `json:"key"`
	// Finish is "ok", "permanent" or "error". If it is "", the effect is a line
	// of output, in a step. It is such a line without a step for "print". For "exit" the
	// process ends at once.
	Finish string `json:"finish"`
	// Addr is the address of the test. If it is "", the work does not wait.
	Addr string `json:"addr"`
}

// A Result identifies the attempt and the process that did the work.
type Result struct {
	Attempt int64  `json:"attempt"`
	PID     int    `json:"pid"`
	Effect  string `json:"effect"`
}

// A DeclinedError is permanent.
type DeclinedError struct{}

func (*DeclinedError) Error() string { return "card declined" }

// A BusyError is retryable.
type BusyError struct{}

func (*BusyError) Error() string { return "the bank is busy" }

type worker struct {
	client  *dynamodb.Client
	effects string
}

// work ignores the end of its context, as the worst of zombies does. A step does not.
func (w worker) work(ctx context.Context, e Event) (result Result, err error) {
	claim, _ := idempotent.FromContext(ctx)
	result = Result{Attempt: claim.Attempt, PID: os.Getpid()}
	effect := func() (err error) {
		result.Effect, err = w.effect(context.WithoutCancel(ctx), e.Key)
		return err
	}
	switch {
	case e.Finish == "":
		return idempotent.Step(ctx, "place", func(context.Context) (Result, error) {
			fmt.Println("placed", e.Key)
			return result, nil
		})
	case e.Finish == "print":
		fmt.Println("placed", e.Key)
		return result, nil
	case e.Finish == "exit":
		fmt.Println("exits in delivery", e.Addr)
		os.Exit(1)
	case e.Addr == "":
		err = effect()
	default:
		err = directed(e.Addr, result, effect)
	}
	if err != nil {
		return result, err
	}
	switch e.Finish {
	case "ok":
		return result, nil
	case "permanent":
		return result, idempotent.Permanent(&DeclinedError{})
	case "error":
		return result, &BusyError{}
	}
	return result, fmt.Errorf("unknown finish %q", e.Finish)
}

// effect writes an item with a new ID, so that every repetition is counted.
func (w worker) effect(ctx context.Context, key string) (id string, err error) {
	id = rand.Text()
	_, err = w.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &w.effects, Item: map[string]types.AttributeValue{
		"id":  &types.AttributeValueMemberS{Value: id},
		"key": &types.AttributeValueMemberS{Value: key},
	}})
	return id, err
}

// directed executes the commands of the test over a connection: "effect", which it
// acknowledges with "done", and "finish".
func directed(addr string, who Result, effect func() error) (err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := json.NewEncoder(conn).Encode(who); err != nil {
		return err
	}
	commands := bufio.NewScanner(conn)
	for commands.Scan() {
		switch commands.Text() {
		case "effect":
			if err := effect(); err != nil {
				return err
			}
			if _, err := io.WriteString(conn, "done\n"); err != nil {
				return err
			}
		case "finish":
			return nil
		default:
			return fmt.Errorf("unknown command %q", commands.Text())
		}
	}
	return errors.Join(commands.Err(), io.ErrUnexpectedEOF)
}
