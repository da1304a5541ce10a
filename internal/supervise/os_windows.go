package supervise

import (
	"errors"
	"os/exec"
	"syscall"
)

// User is a user and a group of the system.
type User struct{ Uid, Gid uint32 }

// Windows has neither process groups nor signals that stop a process: nothing is run
// there that could outlive its parent.
var errUnsupported = errors.New("programs are not run on Windows, which lacks the signals for it: " +
	"use WSL 2, or start a server yourself and name it, as in AWS_ENDPOINT_URL_DYNAMODB")

func lead(*exec.Cmd, *User) {}

func kill(int, syscall.Signal) error { return errUnsupported }

func (p *Process) Stop() error { return errUnsupported }

func (p *Process) Continue() error { return errUnsupported }
