package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
)

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
