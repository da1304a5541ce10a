package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/lambda-once/once/redis/redislocal"
)

// Redis is Redis or Valkey.
type Redis struct {
	server  *redislocal.Server
	version string
}

func startRedis(ctx context.Context, log io.Writer) (*Redis, error) {
	server, err := redislocal.Start(ctx, &redislocal.Options{Log: log})
	if err != nil {
		return nil, err
	}
	version, err := redisVersion(ctx, server)
	if err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return &Redis{server, version}, nil
}

// redisVersion returns the name and the version that the server tells.
func redisVersion(ctx context.Context, server *redislocal.Server) (string, error) {
	info, err := server.Client().Info(ctx, "server").Result()
	if err != nil {
		return "", fmt.Errorf("version of Redis: %w", err)
	}
	told := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		told[name] = value
	}
	if v := told["valkey_version"]; v != "" {
		return "Valkey " + v, nil
	}
	return "Redis " + told["redis_version"], nil
}

// Version implements [Server].
func (r *Redis) Version() string { return r.version }

// Addr implements [Server].
func (r *Redis) Addr() string { return r.server.Addr() }

// Endpoint implements [Server].
func (r *Redis) Endpoint(addr string) string { return addr }

// CreateTable implements [Server]. A table is a prefix.
func (r *Redis) CreateTable(context.Context, string) error { return nil }

// DropTable implements [Server]. The keys expire: a server that was found running has
// others, too.
func (r *Redis) DropTable(context.Context, string) error { return nil }

// Stop implements [Server].
func (r *Redis) Stop() error { return r.server.Stop() }
