package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"
)

// The usual causes of a server that does not answer, by experience.
const (
	causeAWS         = "in a VPC, look for an endpoint of this service in the subnet's route table, or for one whose security group lets this machine in; elsewhere for a proxy"
	causeCredentials = "it is asked for credentials of AWS, as there are no others: set AWS_PROFILE or --profile, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; one that asks a person needs a longer --timeout"
	causePostgres    = "look at its security group and port, for a pooler without a free connection, and for locks; a large table, or a database that was paused, needs a longer --timeout"
	causeRedis       = "look at its security group and port, and whether it wants TLS, which is rediss:// in place of redis://"
)

// awsRequest is the server of a request to AWS, which the client finds after credentials.
type awsRequest struct {
	at          *atomic.Pointer[server]
	credentials bool // it fetches those of a request
}

type awsRequestKey struct{}

// aws has the clients of AWS ask w before each request.
func (w *Waits) aws(stack *middleware.Stack) error {
	bound := middleware.InitializeMiddlewareFunc("OnceWaits", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, m middleware.Metadata, err error) {
		r, within := ctx.Value(awsRequestKey{}).(awsRequest)
		if r.credentials = within; !within {
			r.at = &atomic.Pointer[server]{}
			r.at.Store(&server{"the source of credentials", causeCredentials})
		}
		ctx, ended, err := w.begin(context.WithValue(ctx, awsRequestKey{}, r), r.at.Load)
		if err != nil {
			return out, m, err
		}
		out, m, err = next.HandleInitialize(ctx, in)
		return out, m, ended(err)
	})
	name := middleware.DeserializeMiddlewareFunc("OnceHost", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
		r, within := ctx.Value(awsRequestKey{}).(awsRequest)
		if request, ok := in.Request.(*smithyhttp.Request); ok && within {
			cause := causeAWS
			if r.credentials {
				cause = causeCredentials
			}
			r.at.Store(&server{request.URL.Host, cause})
		}
		return next.HandleDeserialize(ctx, in)
	})
	return errors.Join(stack.Initialize.Add(bound, middleware.Before), stack.Deserialize.Add(name, middleware.Before))
}

type waitingPool struct {
	*pgxpool.Pool
	waits  *Waits
	server server
}

// newWaitingPool opens a pool. Each of several hosts has a part of the time.
func newWaitingPool(ctx context.Context, config *pgxpool.Config, w *Waits) (*waitingPool, error) {
	c := config.ConnConfig
	hosts := []string{net.JoinHostPort(c.Host, fmt.Sprint(c.Port))}
	for _, f := range c.Fallbacks {
		hosts = append(hosts, net.JoinHostPort(f.Host, fmt.Sprint(f.Port)))
	}
	hosts = slices.Compact(hosts) // as each is tried with TLS and without
	if part := w.Timeout / time.Duration(len(hosts)); c.ConnectTimeout == 0 || c.ConnectTimeout > part {
		c.ConnectTimeout = part
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	return &waitingPool{pool, w, server{strings.Join(hosts, ", "), causePostgres}}, err
}

func (p *waitingPool) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	ctx, ended, err := p.waits.begin(ctx, func() *server { return &p.server })
	if err != nil {
		return nil, err
	}
	rows, err := p.Pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, ended(err)
	}
	return &waitingRows{Rows: rows, ended: ended}, nil
}

type waitingRows struct {
	pgx.Rows
	once  sync.Once
	ended func(error) error
	err   error
}

func (r *waitingRows) Close() {
	r.Rows.Close()
	r.once.Do(func() { r.err = r.ended(r.Rows.Err()) })
}

func (r *waitingRows) Err() error {
	if r.Rows.Err() != nil {
		r.Close()
		return r.err
	}
	return nil
}

type waitingHook struct {
	waits  *Waits
	server server
	dialed func(net.Conn)
}

func (h *waitingHook) begin(ctx context.Context) (context.Context, func(error) error, error) {
	return h.waits.begin(ctx, func() *server { return &h.server })
}

func (h *waitingHook) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err == nil {
			h.dialed(conn)
		}
		return conn, err
	}
}

func (h *waitingHook) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		ctx, ended, err := h.begin(ctx)
		if err != nil {
			return err
		}
		return ended(next(ctx, cmd))
	}
}

// ProcessPipelineHook also sets the error of each command: callers look at these.
func (h *waitingHook) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		ctx, ended, err := h.begin(ctx)
		if err == nil {
			err = ended(next(ctx, cmds))
		}
		if h.waits.of(ctx).Ended() != nil {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
		}
		return err
	}
}
