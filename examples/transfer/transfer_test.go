package main

import (
	"strings"
	"testing"

	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
)

func inEveryMode(t *testing.T, test func(t *testing.T, mode string, env ...string)) {
	for _, env := range [][]string{
		{"TRANSFER_MODE="}, {"TRANSFER_MODE=" + transactional}, {"TRANSFER_MODE=" + optimistic}, {"TRANSFER_MODE=" + plain},
		{"TRANSFER_MODE=", inPostgreSQL}, {"TRANSFER_MODE=" + collected, inPostgreSQL},
		{"TRANSFER_MODE=" + optimistic, inPostgreSQL}, {"TRANSFER_MODE=" + plain, inPostgreSQL},
	} {
		t.Run(strings.Join(env, " "), func(t *testing.T) {
			t.Parallel()
			test(t, env[0], env...)
		})
	}
}

func TestOnceATransferID(t *testing.T) {
	inEveryMode(t, func(t *testing.T, mode string, env ...string) {
		f := start(t, lambdaruntime.Function{Environments: 2}, map[string]int64{"alice": 100, "bob": 20}, env...)
		first := event("t-1", "alice", "bob", 30)
		for i := range 4 {
			answers(t, f.Environment(i%2), first, receiptOf(first))
		}
		// A different spelling is the same request.
		answers(t, f, `{"amount":30, "to":"bob", "from":"alice", "transferId":"t-1"}`, receiptOf(first))
		answers(t, f, event("t-1", "alice", "bob", 31), answer{failure: "KeyReusedError"})
		check.Slice(t, f.balances(t, "alice", "bob"), []int64{70, 50}, "balances")
		back := event("t-2", "bob", "alice", 50)
		answers(t, f, back, receiptOf(back))
		check.Slice(t, f.balances(t, "alice", "bob"), []int64{120, 0}, "balances after a second transfer")
	})
}

func TestRefusals(t *testing.T) {
	inEveryMode(t, func(t *testing.T, mode string, env ...string) {
		f := start(t, lambdaruntime.Function{Environments: 2}, map[string]int64{"alice": 100, "bob": 20}, env...)
		poor := event("poor", "alice", "bob", 101)
		for _, c := range []struct{ event, want string }{
			{poor, "InsufficientFundsError"},
			{event("nobody", "carol", "bob", 1), "UnknownAccountError"},
			{event("same", "alice", "alice", 1), "InvalidTransferError"},
			{event("nothing", "alice", "bob", 0), "InvalidTransferError"},
			{event("backwards", "alice", "bob", -1), "InvalidTransferError"},
			{event("from", "", "bob", 1), "InvalidTransferError"},
			{event("to", "alice", "", 1), "InvalidTransferError"},
			{event("", "alice", "bob", 1), "MissingKeyError"},
		} {
			for i := range 2 { // and so in every repetition, anywhere
				answers(t, f.Environment(i), c.event, answer{failure: c.want})
			}
		}
		if mode != "TRANSFER_MODE="+plain { // which has paid by then
			answers(t, f, event("to nobody", "alice", "carol", 1), answer{failure: "UnknownAccountError"})
		}
		check.Slice(t, f.balances(t, "alice", "bob"), []int64{100, 20}, "balances")
		// The error is permanent: a later deposit changes nothing.
		rich := event("rich", "bob", "alice", 20)
		answers(t, f, rich, receiptOf(rich))
		answers(t, f, poor, answer{failure: "InsufficientFundsError"})
		check.Slice(t, f.balances(t, "alice", "bob"), []int64{120, 0}, "balances")
	})
}

// A function with a wrong configuration fails before it receives an event.
func TestSettings(t *testing.T) {
	for setting, want := range map[string]string{
		"ACCOUNTS_TABLE=":               "ACCOUNTS_TABLE is not set",
		"AWS_LAMBDA_LOG_LEVEL=LOUD":     "AWS_LAMBDA_LOG_LEVEL",
		"IDEMPOTENCY_TABLE=":            "table",
		"TRANSFER_DELAY=soon":           "TRANSFER_DELAY",
		"TRANSFER_DELAY=-1s":            "TRANSFER_DELAY is -1s",
		"TRANSFER_MODE=transactionally": `TRANSFER_MODE is \"transactionally\"`,
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			f := start(t, lambdaruntime.Function{}, nil, setting)
			deployed.FailsToStart(t, f, want)
		})
	}
}
