package durable

import (
	"context"
	"fmt"
	"sync"
)

// Names starts executions of a service under names, as an asynchronous invocation
// with a DurableExecutionName does.
type Names struct {
	Service *Service

	mu      sync.Mutex
	version int
	all     map[string]*named
}

type named struct {
	execution *Execution
	version   int
	input     string
}

// AlreadyStartedError is the service's DurableExecutionAlreadyStartedException.
type AlreadyStartedError struct{ ARN string }

func (e *AlreadyStartedError) Error() string { return "Execution already started: " + e.ARN }

// ErrorCode returns the code as the AWS SDK does.
func (e *AlreadyStartedError) ErrorCode() string { return "DurableExecutionAlreadyStartedException" }

// StartExecution starts an execution, unless there is one with this name. It
// returns an error if that one has another input or another version.
func (n *Names) StartExecution(_ context.Context, name string, input []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	first := n.all[name]
	switch {
	case first != nil && (first.version != n.version || first.input != string(input)):
		return &AlreadyStartedError{ARN: first.execution.ARN}
	case first != nil:
		return nil
	case n.all == nil:
		n.all = map[string]*named{}
	}
	n.all[name] = &named{n.Service.Start(name, string(input)), n.version, string(input)}
	return nil
}

// ExecutionInput returns the input of the execution with a name.
func (n *Names) ExecutionInput(_ context.Context, name string) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if first := n.all[name]; first != nil {
		return []byte(first.input), nil
	}
	return nil, fmt.Errorf("ResourceNotFoundException: no execution %s", name)
}

// Deploy makes later executions those of the next version.
func (n *Names) Deploy() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.version++
}

// Forget ends the retention of all histories.
func (n *Names) Forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = nil
}

// Executions returns those that are remembered.
func (n *Names) Executions() []*Execution {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []*Execution
	for _, one := range n.all {
		all = append(all, one.execution)
	}
	return all
}
