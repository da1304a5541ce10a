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

// Run connects to a server that asks for no password, such as that of a [Server], and runs
// the statements, each in a transaction of its own. It returns the rows of the last one
// as text, and "" for NULL.
//
// Tests in a module without a driver use it: the fetched programs contain no psql.
func Run(ctx context.Context, to string, statements ...string) (rows [][]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	conn, err := connect(ctx, to)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	// A canceled context ends reading and writing.
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	for _, s := range statements {
		if err := conn.send("Q", s+"\x00"); err != nil {
			return nil, err
		}
		if rows, err = conn.untilReady(); err != nil {
			return nil, err
		}
	}
	return rows, conn.send("X", "")
}

func execute(ctx context.Context, to string, statements ...string) error {
	_, err := Run(ctx, to, statements...)
	return err
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
	const protocol = "\x00\x03\x00\x00" // version 3.0
	startup := []string{protocol + "user", u.User.Username(), "database", strings.TrimPrefix(u.Path, "/"), "", ""}
	err = conn.send("", strings.Join(startup, "\x00"))
	if err == nil {
		_, err = conn.untilReady()
	}
	if err != nil {
		return connection{}, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (c connection) send(kind, body string) error {
	m := binary.BigEndian.AppendUint32([]byte(kind), uint32(4+len(body)))
	_, err := c.Write(append(m, body...))
	return err
}

// untilReady reads messages until the server waits for the next statement, and returns
// the rows.
func (c connection) untilReady() (rows [][]string, failed error) {
	for {
		var head [5]byte
		if _, err := io.ReadFull(c.reply, head[:]); err != nil {
			return nil, errors.Join(failed, err)
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(c.reply, body); err != nil {
			return nil, errors.Join(failed, err)
		}
		switch head[0] {
		case 'Z':
			return rows, failed
		case 'D':
			rows = append(rows, fieldsOf(body))
		case 'E':
			failed = serverError(body)
		case 'R':
			if method := binary.BigEndian.Uint32(body); method != 0 {
				return nil, fmt.Errorf("the server asks for a password (authentication method %d)", method)
			}
		}
	}
}

// fieldsOf reads the values of a DataRow.
func fieldsOf(body []byte) (values []string) {
	count := binary.BigEndian.Uint16(body)
	for body = body[2:]; count > 0; count-- {
		length := int(int32(binary.BigEndian.Uint32(body)))
		body = body[4:]
		if length = max(length, 0); length > len(body) {
			return values
		}
		values, body = append(values, string(body[:length])), body[length:]
	}
	return values
}

// serverError reads the severity, code and message of an ErrorResponse.
func serverError(body []byte) error {
	fields := map[byte]string{}
	for f := range strings.FieldsFuncSeq(string(body), func(r rune) bool { return r == 0 }) {
		fields[f[0]] = f[1:]
	}
	return fmt.Errorf("%s: %s (SQLSTATE %s)", fields['S'], fields['M'], fields['C'])
}
