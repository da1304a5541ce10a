package protocol

// A Mode is the variant of a call: how it holds its record, and who holds it. The two
// are independent, but for one thing: only the claim of one call fails open.
type Mode struct {
	Hold   Hold
	Holder Holder
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

// Holder is the kind of caller that holds the record.
type Holder uint8

const (
	OneCall       Holder = iota
	Execution            // a durable execution, whose handler runs in each invocation
	ExecutionStep        // a step of one
	holders
)

// IsClaimed reports whether the record is known to be the call's.
func (m Mode) IsClaimed() bool { return m.Hold == Claimed }

// HasFailedOpen reports whether the claim may be stored, and may not.
func (m Mode) HasFailedOpen() bool { return m.Hold == FailedOpen }

// IsOptimistic reports whether there is no record to release.
func (m Mode) IsOptimistic() bool { return m.Hold == Optimistic }

// HasRecord reports whether the call has a record, or will create it.
func (m Mode) HasRecord() bool { return m.Hold != Bypassed }

// IsDurable reports whether the holder is a durable execution or a step of one. The
// claim is then that of its other invocations too.
func (m Mode) IsDurable() bool { return m.Holder != OneCall }

// IsExecution reports whether the handler is that of a durable execution.
func (m Mode) IsExecution() bool { return m.Holder == Execution }

// RunsExecution reports whether the run is that of an execution's handler, which
// decides on the plan itself. Without a record there is nothing to decide.
func (m Mode) RunsExecution() bool { return m.Holder == Execution && m.Hold != Bypassed }

// Tries returns the policy p as the mode follows it. A caller that chose to
// continue without the store waits for one try.
func (m Mode) Tries(p *Policy) *Policy {
	if m.HasFailedOpen() {
		return p.Once()
	}
	return p
}
