package postgreslocal

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"
)

// execute connects to a server that asks for no password, and runs the statements, each
// in a transaction of its own. It speaks so much of the protocol that the package needs no
// driver, and no psql, which the fetched programs do not contain.
func execute(ctx context.Context, to string, statements ...string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	conn, err := connect(ctx, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	// A canceled context ends reading and writing.
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	for _, s := range statements {
		if err := conn.send("Q", append([]byte(s), 0)); err != nil {
			return err
		}
		if err := conn.untilReady(); err != nil {
			return err
		}
	}
	return conn.send("X", nil)
}

// A connection is one session.
type connection struct {
	net.Conn
	reply *bufio.Reader
}

func connect(ctx context.Context, to string) (connection, error) {
	u, err := url.Parse(to)
	if err != nil {
		return connection{}, err
	}
	tcp, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return connection{}, err
	}
	conn := connection{Conn: tcp, reply: bufio.NewReader(tcp)}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	const protocol = 3 << 16
	startup := binary.BigEndian.AppendUint32(nil, protocol)
	for _, s := range []string{"user", u.User.Username(), "database", strings.TrimPrefix(u.Path, "/"), ""} {
		startup = append(append(startup, s...), 0)
	}
	err = conn.send("", startup)
	if err == nil {
		err = conn.untilReady()
	}
	if err != nil {
		return connection{}, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (c connection) send(kind string, body []byte) error {
	m := binary.BigEndian.AppendUint32([]byte(kind), uint32(4+len(body)))
	_, err := c.Write(append(m, body...))
	return err
}

// untilReady reads messages until the server waits for the next statement.
func (c connection) untilReady() error {
	var failed error
	for {
		var head [5]byte
		if _, err := io.ReadFull(c.reply, head[:]); err != nil {
			return errors.Join(failed, err)
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(c.reply, body); err != nil {
			return errors.Join(failed, err)
		}
		switch head[0] {
		case 'Z':
			return failed
		case 'E':
			failed = serverError(body)
		case 'R':
			if method := binary.BigEndian.Uint32(body); method != 0 {
				return fmt.Errorf("the server asks for a password (authentication method %d)", method)
			}
		}
	}
}

// serverError reads the severity, code and message of an ErrorResponse.
func serverError(body []byte) error {
	fields := map[byte]string{}
	for _, f := range strings.Split(string(body), "\x00") {
		if f != "" {
			fields[f[0]] = f[1:]
		}
	}
	return fmt.Errorf("%s: %s (SQLSTATE %s)", fields['S'], fields['M'], fields['C'])
}
