package sqslocal_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/sqslocal"
)

// The response decides which of the messages a, b and c are deleted.
func TestAnswers(t *testing.T) {
	all, none := []string{"handle-a", "handle-b", "handle-c"}, []string(nil)
	for answer, want := range map[string][]string{
		`null`:                       all,
		``:                           all,
		`  `:                         all,
		`{}`:                         all,
		`{"batchItemFailures":null}`: all,
		`{"batchItemFailures":[]}`:   all,
		`{"batchItemFailures":[{"itemIdentifier":"b"}]}`:                                               {"handle-a", "handle-c"},
		`{"batchItemFailures":[{"itemIdentifier":"c"},{"itemIdentifier":"a"}]}`:                        {"handle-b"},
		`{"batchItemFailures":[{"itemIdentifier":"a"},{"itemIdentifier":"a"}]}`:                        {"handle-b", "handle-c"},
		`{"batchItemFailures":[{"itemIdentifier":"a"},{"itemIdentifier":"b"},{"itemIdentifier":"c"}]}`: none,
		` { "more" : 1 , "batchItemFailures" : [ { "itemIdentifier" : "a" , "why" : "x" } ] } `:        {"handle-b", "handle-c"},
		`{"batchItemFailures":[{"itemIdentifier":""}]}`:                                                none,
		`{"batchItemFailures":[{"itemIdentifier":null}]}`:                                              none,
		`{"batchItemFailures":[{"itemIdentifier":"a"},{"itemIdentifier":null}]}`:                       none,
		`{"batchItemFailures":[{"itemidentifier":"a"}]}`:                                               none,
		`{"batchItemFailures":[{"messageId":"a"}]}`:                                                    none,
		`{"batchItemFailures":[{}]}`:                                                                   none,
		`{"batchItemFailures":[null]}`:                                                                 none,
		`{"batchItemFailures":["a"]}`:                                                                  none,
		`{"batchItemFailures":[{"itemIdentifier":7}]}`:                                                 none,
		`{"batchItemFailures":[{"itemIdentifier":"d"}]}`:                                               none,
		`{"batchItemFailures":[{"itemIdentifier":"handle-a"}]}`:                                        none,
		`{"batchItemFailures":{"itemIdentifier":"a"}}`:                                                 none,
		`{"batchItemFailures":"a"}`:                                                                    none,
		`{"batchItemFailures":[{"itemIdentifier":"a"}]`:                                                none,
		`{"batchItemFailures":[]} and more`:                                                            none,
		`[]`:                                                                                           none,
		`"ok"`:                                                                                         none,
		`ok`:                                                                                           none,
		`{"BatchItemFailures":[{"itemIdentifier":"a"}]}`:                                               all, // as on AWS: nothing is reported
		`{"statusCode":200}`:                                                                           all,
	} {
		t.Run(answer, func(t *testing.T) {
			s := &script{gives: [][]types.Message{messages("a", "b", "c")}}
			batches, err := play(t, s, sqslocal.Mapping{Invoke: answers(answer), ReportBatchItemFailures: true})
			if err != nil || len(batches) != 1 {
				t.Fatalf("%d batches, %v", len(batches), err)
			}
			check.Deep(t, s.deleted(), want, "deleted")
			if len(batches[0].Failed)+len(want) != 3 || string(batches[0].Response.Payload) != answer {
				t.Errorf("observed %+v", batches[0])
			}
			var malformed *sqslocal.AnswerError
			listed := answer == `{"batchItemFailures":[{"itemIdentifier":"a"},{"itemIdentifier":"b"},{"itemIdentifier":"c"}]}`
			check.Equal(t, errors.As(batches[0].Err, &malformed), want == nil && !listed, "observed", batches[0].Err)
		})
	}
}

func TestAnswersAreIgnoredWithoutReports(t *testing.T) {
	for _, answer := range []string{`{"batchItemFailures":[{"itemIdentifier":"b"}]}`, `not JSON`, ``} {
		s := &script{gives: [][]types.Message{messages("a", "b")}}
		if _, err := play(t, s, sqslocal.Mapping{Invoke: answers(answer)}); err != nil {
			t.Fatal(err)
		}
		check.Equal(t, len(s.deleted()), 2, answer, "deleted")
	}
}

// After a failed invocation, no message is deleted.
func TestFailuresDeleteNothing(t *testing.T) {
	for name, failure := range map[string]error{
		"function error": &lambdaruntime.FunctionError{Type: "errorString", Message: "it failed"},
		"crash":          &lambdaruntime.CrashedError{Status: "signal: killed"},
		"timeout":        &lambdaruntime.TimeoutError{},
		"no start":       &lambdaruntime.InitError{},
	} {
		for _, reports := range []bool{false, true} {
			s := &script{gives: [][]types.Message{messages("a", "b")}}
			batches, err := play(t, s, sqslocal.Mapping{
				ReportBatchItemFailures: reports,
				Invoke: func(context.Context, []byte) (lambdaruntime.Response, error) {
					if answered, ok := failure.(*lambdaruntime.FunctionError); ok {
						return lambdaruntime.Response{Payload: []byte(`{}`), FunctionError: answered}, nil
					}
					return lambdaruntime.Response{}, failure
				},
			})
			if err != nil || len(batches) != 1 || !errors.Is(batches[0].Err, failure) || len(batches[0].Failed) != 2 {
				t.Errorf("%s: %+v, %v", name, batches, err)
			}
			check.Equal(t, len(s.deletes), 0, name, "deleted", s.deleted())
		}
	}
}
