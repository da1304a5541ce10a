package protocol

// A Mode is the variant of a call: how it holds its record, and who owns that.
// The two are independent, but for one thing: only the claim of one call fails open.
type Mode struct {
	Hold  Hold
	Owner Owner
}

// Hold is how a call holds its record.
type Hold uint8

const (
	Claimed    Hold = iota // it is in progress, with the owner of the call
	FailedOpen             // the claim failed, and may be stored all the same
	Optimistic             // there is no claim: the transaction creates the record
	Bypassed               // there is no record
	holds
)

// Owner is who owns the claim of a call.
type Owner uint8

const (
	OneCall       Owner = iota
	Execution           // a durable execution, whose handler runs in each invocation
	ExecutionStep       // a step of one
	owners
)

// RunsExecution reports whether the run is that of an execution's handler, which
// decides on the plan itself. Without a record there is nothing to decide.
func (m Mode) RunsExecution() bool { return m.Owner == Execution && m.Hold != Bypassed }

// Tries returns the policy p as the mode follows it. A caller that chose to
// continue without the store waits for one try.
func (m Mode) Tries(p *Policy) *Policy {
	if m.Hold == FailedOpen {
		return p.Once()
	}
	return p
}
