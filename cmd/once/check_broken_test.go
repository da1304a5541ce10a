package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/cmd/once/internal/checks"
	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
	"github.com/lambda-once/once/redis/redislocal"
)

// A brokenTable is one that claims are refused by, or that suppresses a write. After the repair,
// of which check says the statement, nothing is wrong.
type brokenTable struct {
	damage  string
	check   string
	repair  string
	verdict checks.Verdict // or wrong
	args    []string
	left    int // records that the check cannot delete
}

func TestCheckFindsAndRepairsBrokenTablesOfPostgreSQL(t *testing.T) {
	const suppress = "CREATE FUNCTION suppress() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$; CREATE TRIGGER quiet BEFORE "
	const disable = `ALTER TABLE "idempotency" DISABLE TRIGGER quiet`
	for name, b := range map[string]brokenTable{
		"deferrable key": {damage: "ALTER TABLE idempotency DROP CONSTRAINT idempotency_pkey, ADD PRIMARY KEY (id) DEFERRABLE INITIALLY DEFERRED", check: "claim",
			repair: `ALTER TABLE "idempotency" DROP CONSTRAINT idempotency_pkey, ADD PRIMARY KEY (id)`},
		"no key": {damage: "ALTER TABLE idempotency DROP CONSTRAINT idempotency_pkey", check: "table", repair: `ALTER TABLE "idempotency" ADD PRIMARY KEY ("id")`},
		"forced row-level security": {damage: "ALTER TABLE idempotency ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY", check: "claim",
			repair: `ALTER TABLE "idempotency" DISABLE ROW LEVEL SECURITY`},
		"a policy that hides": {damage: "ALTER TABLE idempotency ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY; CREATE POLICY p ON idempotency USING (attempt < 2) WITH CHECK (true)", check: "takeover",
			repair: `ALTER TABLE "idempotency" DISABLE ROW LEVEL SECURITY`},
		"suppressed insert":   {damage: suppress + "INSERT ON idempotency FOR EACH ROW EXECUTE FUNCTION suppress()", check: "claim", repair: disable},
		"suppressed deletion": {damage: suppress + "DELETE ON idempotency FOR EACH ROW EXECUTE FUNCTION suppress()", check: "deletion", repair: disable, left: 1},
		"suppressed result":   {damage: suppress + "UPDATE OF data ON idempotency FOR EACH ROW EXECUTE FUNCTION suppress()", check: "completion", repair: disable},
		"rule":                {damage: "CREATE RULE quiet AS ON DELETE TO idempotency DO INSTEAD NOTHING", check: "deletion", repair: `DROP RULE quiet ON "idempotency"`, left: 1},
		"missing columns": {damage: "ALTER TABLE idempotency DROP COLUMN began, DROP COLUMN request", check: "table",
			repair: `ALTER TABLE "idempotency" ADD COLUMN "began" timestamptz, ADD COLUMN "request" bytea`},
		"missing index of leases": {check: "index of leases", verdict: checks.Warning, args: []string{"--resume"},
			repair: `CREATE INDEX IF NOT EXISTS "idempotency_lapsed" ON "idempotency" ("lease") WHERE "status" = 'INPROGRESS'`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newPostgresScene(t, "idempotency", nil)
			role := "once_" + strings.ReplaceAll(strings.ReplaceAll(name, " ", "_"), "-", "_") // row-level security does not apply to a superuser
			s.exec("CREATE ROLE " + role + " LOGIN")
			t.Cleanup(func() {
				s.pool.Exec(context.WithoutCancel(t.Context()), "DROP OWNED BY "+role+"; DROP ROLE "+role)
			})
			s.exec("ALTER TABLE idempotency OWNER TO " + role)
			s.fill(2)
			if b.damage != "" {
				s.exec(b.damage)
			}
			_, at, _ := strings.Cut(s.url, "@")
			args := append([]string{"check", "--postgres", "postgres://" + role + "@" + at}, b.args...)
			code := cli.CodeNotRight
			if b.verdict == checks.Warning {
				code = 0
			}
			got := s.found(code, args...)
			if f := got[b.check]; f.Verdict == checks.Fine || !strings.Contains(f.ToDo, b.repair) {
				t.Errorf("%+v", got)
			}
			if strings.Contains(b.damage, "SECURITY") { // whose code is that of a missing right
				check.Contains(t, got[b.check].Found, "row-level security hides the row or refuses it")
			}
			check.Equal(t, strings.Contains(got["clean-up"].Found, "expires in half an hour"), b.left > 0, got)
			s.exec(b.repair)
			got = s.found(0, args...)
			check.Equal(t, got[called].Verdict, checks.Fine, got)
			check.Equal(t, got[b.check].Verdict == checks.Wrong || got[b.check].Verdict == checks.Warning, false, got)
			check.Equal(t, s.count(), 2+b.left, "records are left")
		})
	}
}

// The server finds doubled ids by the statement that stands before the one that adds the key.
func TestCheckFindsDoubledIDsOfATableWithoutItsKey(t *testing.T) {
	s := newPostgresScene(t, "idempotency", nil)
	s.exec("ALTER TABLE idempotency DROP CONSTRAINT idempotency_pkey")
	s.fill(2)
	s.fill(1)
	toDo := s.found(cli.CodeNotRight, "check", "--postgres", s.url)["table"].ToDo
	statement, _, ok := strings.Cut(strings.TrimPrefix(toDo, "doubled ids first: "), ";")
	var id string
	var rows int
	check.Must(t, s.pool.QueryRow(t.Context(), statement).Scan(&id, &rows))
	if !ok || id != "pay#1" || rows != 2 {
		t.Errorf("%s: %s %d", toDo, id, rows)
	}
}

func TestCheckFindsADeniedCommandOfRedis(t *testing.T) {
	server := redislocal.NewServer(t, &redislocal.Options{Args: []string{"--appendonly", "yes", "--appendfsync", "always"}})
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr()})
	t.Cleanup(func() { check.Nil(t, client.Close()) })
	s := &scene{T: t}
	for command, want := range map[string]struct{ check, repair string }{
		"hkeys": {"claim", "ACL SETUSER the user +hkeys"}, "hincrby": {"claim", "ACL SETUSER the user +hincrby"},
		"hdel": {"scripts", "docs/redis.md"}, // of which this server says no name
	} {
		user := "without" + command
		args := []any{"ACL", "SETUSER", user, "on", "nopass", "~once:*", "+@all", "-" + command}
		check.Must(t, client.Do(t.Context(), args...).Err())
		flags := []string{"check", "--redis", "redis://" + user + ":any@" + server.Addr()}
		got := s.found(cli.CodeNotRight, flags...)
		if f := got[want.check]; f.Verdict != checks.Wrong || !strings.Contains(f.ToDo, want.repair) {
			t.Errorf("%s: %+v", command, got)
		}
		if err := client.Do(t.Context(), "ACL", "SETUSER", user, "+"+command).Err(); err != nil {
			t.Fatal(err)
		}
		if f := s.found(0, flags...)[called]; f.Verdict != checks.Fine {
			t.Errorf("%s: %+v", command, f)
		}
	}
	if n := client.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d records are left", n)
	}
}

func TestCheckFindsAReplicaOfRedis(t *testing.T) {
	primary := redislocal.NewServer(t, &redislocal.Options{Args: []string{"--appendonly", "no"}})
	replica := redislocal.NewServer(t, &redislocal.Options{Args: []string{"--replicaof", strings.ReplaceAll(primary.Addr(), ":", " ")}})
	got := (&scene{T: t}).found(cli.CodeNotRight, "check", "--redis", "redis://"+replica.Addr())
	check.Equal(t, got["server"].ToDo, "connect to the primary", got)
	check.Equal(t, got["server"].Verdict, checks.Wrong)
}

func TestCheckComparesMaxmemoryWithTheRecords(t *testing.T) {
	server := redislocal.NewServer(t, &redislocal.Options{Args: []string{"--appendonly", "no"}})
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr()})
	t.Cleanup(func() { check.Nil(t, client.Close()) })
	for i := range 300 {
		check.Must(t, client.HSet(t.Context(), fmt.Sprint("once:pay#", i), "status", strings.Repeat("x", 100_000)).Err())
	}
	used, err := client.InfoMap(t.Context(), "memory").Result()
	check.Must(t, err)
	var bytes int64
	_, err = fmt.Sscan(used["Memory"]["used_memory"], &bytes)
	check.Must(t, err)
	s := &scene{T: t}
	for limit, want := range map[int64]checks.Verdict{bytes / 10 * 11: checks.Warning, bytes * 2: checks.Fine} {
		check.Must(t, client.ConfigSet(t.Context(), "maxmemory", fmt.Sprint(limit)).Err())
		got := s.found(0, "check", "--redis", "redis://"+server.Addr())
		check.Equal(t, got["maxmemory"].Verdict, want, got["maxmemory"])
		check.Contains(t, got["maxmemory"].Found, "300 keys of some 1")
	}
}

// The key that encrypts the table refuses a write, as DynamoDB reports it.
func TestCheckFindsAKeyThatRefuses(t *testing.T) {
	s := newScene(t)
	const refused = `{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"KMS key access denied: kms:GenerateDataKey with this encryption context"}`
	for name, is := range map[string]func(*wire.Request) bool{
		"claim": func(r *wire.Request) bool {
			return r.Operation == "PutItem" && !bytes.Contains(r.Body, []byte("attribute_exists(#id) AND attribute_not_exists(#id)"))
		},
		"dynamodb:PutItem": func(r *wire.Request) bool { return r.Operation == "PutItem" },
	} {
		endpoint := s.wired(func(r *wire.Request) (*wire.Response, error) {
			if is(r) {
				return &wire.Response{Status: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: []byte(refused)}, nil
			}
			return r.Send()
		})
		got := s.found(cli.CodeNotRight, "check", "--endpoint", endpoint)
		check.Equal(t, got[name].Verdict, checks.Wrong, got)
		check.Equal(t, got[name].ToDo, checks.ToUseKey)
		check.Equal(t, len(s.items()), 0)
	}
}

func TestCheckFindsAMissingIndexOfLeases(t *testing.T) {
	s := newScene(t)
	got := s.found(cli.CodeNotRight, "check", "--resume")
	check.Equal(t, got["index"].Verdict, checks.Wrong, got)
	check.Contains(t, got["index"].ToDo, "prop Resume")
	check.Equal(t, got[called].Verdict, checks.Fine)
	table := s.table + "-resume"
	check.Must(t, dynamo.CreateTable(t.Context(), s.client, table, &dynamo.Options{Resume: true}))
	check.Equal(t, s.found(0, "check", "--resume", "--table", table)["index"].Verdict, checks.Fine)
}
