package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// openPool connects to nothing before the first call. Each new connection asks for its
// password, so that a rotated secret or an expired token ends nothing.
func openPool(ctx context.Context, cfg aws.Config) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL")) // if empty: PGHOST and so on
	if err != nil {
		return nil, fmt.Errorf("PGHOST or DATABASE_URL: %w", err)
	}
	config.MaxConns = 2                       // an execution environment runs one invocation at a time
	config.MaxConnLifetime = 50 * time.Minute // DSQL ends a connection after an hour
	// RDS Proxy would pin a session for its prepared statements.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	secret, service := os.Getenv("DATABASE_SECRET"), os.Getenv("DATABASE_IAM")
	switch {
	case service != "":
		config.BeforeConnect = func(ctx context.Context, c *pgx.ConnConfig) (err error) {
			c.Password, err = token(ctx, cfg, service, c, time.Now())
			return err
		}
	case secret != "":
		client := secretsmanager.NewFromConfig(cfg)
		config.BeforeConnect = func(ctx context.Context, c *pgx.ConnConfig) error {
			return login(ctx, client, secret, c)
		}
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// token returns a password for 15 minutes: a signed URL without its scheme. The request
// is not sent, so this needs no endpoint of AWS. service is rds-db or dsql.
func token(ctx context.Context, cfg aws.Config, service string, c *pgx.ConnConfig, now time.Time) (string, error) {
	credentials, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return "", err
	}
	host, query := c.Host, url.Values{"Action": {"DbConnect"}, "X-Amz-Expires": {"900"}}
	if service == "rds-db" {
		host = net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
		query.Set("Action", "connect")
		query.Set("DBUser", c.User)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/?"+query.Encode(), nil)
	if err != nil {
		return "", err
	}
	const noBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	signed, _, err := v4.NewSigner().PresignHTTP(ctx, credentials, request, noBody, service, cfg.Region, now)
	return strings.TrimPrefix(signed, "https://"), err
}

// login reads the user and the password from a secret of Secrets Manager.
func login(ctx context.Context, client *secretsmanager.Client, secret string, c *pgx.ConnConfig) error {
	out, err := client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &secret})
	if err != nil {
		return err
	}
	var found struct{ Username, Password string }
	if err := json.Unmarshal([]byte(aws.ToString(out.SecretString)), &found); err != nil {
		return fmt.Errorf("DATABASE_SECRET is not JSON with username and password") // err quotes the secret
	}
	c.User, c.Password = cmp.Or(found.Username, c.User), found.Password
	return nil
}
