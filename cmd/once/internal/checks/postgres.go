package checks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/postgres"
)

type postgresCheck struct {
	*store.PostgresTable
	*Findings
}

func (c *postgresCheck) usable(ctx context.Context, _ string) (usable bool) {
	settings, err := c.settings(ctx)
	if err != nil {
		c.say("server", Wrong, err.Error(), "see --postgres, the role, its password and the name of the database")
		return false
	}
	version, _ := strconv.Atoi(settings["server_version_num"]) // an unreadable one is 0, and so too old
	c.first("server", "PostgreSQL "+settings["server_version"]+", read and write",
		outcome{version < oldestVersion, Wrong, "PostgreSQL " + settings["server_version"], "use PostgreSQL 15 or newer"},
		outcome{settings["replica"] == "true" || settings["transaction_read_only"] == "on", Wrong, "it is read-only", "connect to the primary, for example with target_session_attrs=read-write"})
	usable = c.shape(ctx)
	// Claims and completions rely on isolation and durability.
	level, commit := settings["default_transaction_isolation"], settings["synchronous_commit"]
	c.first("isolation", level,
		outcome{level != "read committed", Warning, level + ": writes that lose a conflict are repeated, and transactions fail with 40001 more often",
			"ALTER ROLE … SET default_transaction_isolation = 'read committed', or use postgres.Collect"})
	c.first("durability", "synchronous_commit is "+commit,
		outcome{commit == "off", Warning, "synchronous_commit is off: a crash of the server loses the last claims and completions, and their calls run twice",
			"ALTER ROLE … SET synchronous_commit = on"},
		outcome{settings["fsync"] == "off", Warning, "fsync is off: a crash of the machine may lose any record", "turn fsync on"})
	c.vanished(settings)
	return usable
}

// settings returns settings of the server and the role, in the units of pg_settings, and
// whether the server is a replica.
func (c *postgresCheck) settings(ctx context.Context) (map[string]string, error) {
	rows, err := c.Pool.Query(ctx, `SELECT name, setting FROM pg_settings WHERE name IN ('server_version_num', 'server_version',
		'default_transaction_isolation', 'transaction_read_only', 'synchronous_commit', 'fsync', 'idle_in_transaction_session_timeout', 'transaction_timeout',
		'tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count', 'tcp_user_timeout')
		UNION ALL SELECT 'address', coalesce(inet_server_addr()::text, '') UNION ALL SELECT 'replica', pg_is_in_recovery()::text`)
	if err != nil {
		return nil, err
	}
	settings := map[string]string{}
	var name, value string
	_, err = pgx.ForEachRow(rows, []any{&name, &value}, func() error { settings[name] = value; return nil })
	return settings, err
}

const oldestVersion = 150000 // the first version that the store supports

// shape checks the table, its indexes, and the role's rights on it. It reports whether a call
// can be tried.
func (c *postgresCheck) shape(ctx context.Context) bool {
	const toDo = "run once postgres init, or the statements of postgres.SQL; see --table and --schema"
	rights := []string{"SELECT", "INSERT", "UPDATE", "DELETE"}
	const expires, lease = "expires", "lease"
	var exists bool
	var indexed []string // columns
	var may []bool
	rows, err := c.Pool.Query(ctx, `SELECT to_regclass($1) IS NOT NULL,
		ARRAY(SELECT coalesce(has_table_privilege(to_regclass($1), name), false) FROM unnest($2::text[]) WITH ORDINALITY AS r(name, n) ORDER BY n),
		ARRAY(SELECT a.attname::text FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
		WHERE i.indrelid = to_regclass($1) AND i.indisvalid)`, c.Quoted(), rights)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&exists, &may, &indexed}, func() error { return nil })
	}
	switch {
	case err != nil: // a server that is not quite PostgreSQL; CheckTable says whether functions can use it
		c.say("rights", Warning, "not known: "+err.Error(), "")
		may, indexed = nil, []string{expires, lease}
	case !exists:
		c.say("table", Wrong, "there is no table "+c.Quoted()+" that the role can see", toDo)
		return false
	}
	for i, right := range rights[:len(may)] {
		c.first(right, "the role may",
			outcome{!may[i], Wrong, "the role may not", "GRANT " + right + " ON " + c.Quoted() + " TO the role of the functions"})
	}
	if slices.Contains(may, false) {
		return false // the columns are checked by a plan of an INSERT
	}
	if err := postgres.CheckTable(ctx, c.Pool, c.Name, c.Options); err != nil {
		c.say("table", Wrong, err.Error(), cmp.Or(c.repairTable(ctx, err), toDo))
		return false
	}
	c.say("table", Fine, "it has the columns and the primary key that functions need", "")
	c.first("index", "on "+expires,
		outcome{!slices.Contains(indexed, expires), Warning, "there is none on " + expires + ": each sweep reads the whole table", "run once postgres init"})
	if c.Options.Resume {
		c.first("index of leases", "on "+lease,
			outcome{!slices.Contains(indexed, lease), Warning, "there is none on " + lease + ": each round of handlers.Resume reads the whole table", c.statements()[2]})
	}
	return true
}

// vanished checks how long the server keeps the transaction of a client that has
// vanished, with its locks.
func (c *postgresCheck) vanished(settings map[string]string) {
	number := func(name string) time.Duration {
		n, _ := strconv.Atoi(settings[name]) // missing before PostgreSQL 17: 0, which means no limit
		return time.Duration(n)
	}
	var limits []string
	for _, name := range []string{"idle_in_transaction_session_timeout", "transaction_timeout"} {
		if n := number(name); n > 0 {
			limits = append(limits, fmt.Sprint(name, " is ", n*time.Millisecond))
		}
	}
	if len(limits) == 0 {
		limits = []string{"the server sets none; the store sets one in Lambda functions, and elsewhere by Options.TransactionTimeout"}
	}
	c.say("timeouts", Fine, strings.Join(limits, ", "), "")
	const most = time.Minute
	probes := (number("tcp_keepalives_idle") + number("tcp_keepalives_interval")*number("tcp_keepalives_count")) * time.Second
	unsent := number("tcp_user_timeout") * time.Millisecond
	advice := "set tcp_keepalives_idle = 30, tcp_keepalives_interval = 10, tcp_keepalives_count = 3 and tcp_user_timeout = '60s' on the server"
	c.first("tcp", fmt.Sprintf("the server notices within %v that a client has vanished", max(probes, unsent)),
		outcome{settings["address"] == "", Warning, "not known over a Unix-domain socket", "check again with a host name"},
		outcome{probes > most, Warning, fmt.Sprintf("the server notices after %v that a client has vanished, and keeps its locks until then", probes), advice},
		outcome{unsent == 0 || unsent > most, Warning, "tcp_user_timeout does not limit how long the server waits for a client that has vanished", advice})
}

func (c *postgresCheck) statements() []string {
	all, _ := postgres.SQL(c.Name, c.Options) // the options are those of a store
	return all
}

func (c *postgresCheck) repairTable(ctx context.Context, err error) string {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return ""
	}
	lines := strings.Split(c.statements()[0], ",\n")
	// Both are in each statement of CREATE TABLE.
	_, first, _ := strings.Cut(lines[0], "(\n")
	id, _, _ := strings.Cut(strings.TrimSpace(first), " text")
	switch answer.Code {
	case "42P10":
		return "doubled ids first: SELECT " + id + ", count(*) FROM " + c.Quoted() + " GROUP BY 1 HAVING count(*) > 1; of each, look what ran twice, and delete all rows but the finished one; then ALTER TABLE " +
			c.Quoted() + " ADD PRIMARY KEY (" + id + ")"
	case "42703":
		has, err := c.texts(ctx, `SELECT '"' || replace(attname, '"', '""') || '"' FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`)
		if err != nil {
			return ""
		}
		var add []string
		for _, line := range lines[1:] {
			column := strings.TrimSpace(strings.TrimSuffix(line, "\n)"))
			if !slices.ContainsFunc(has, func(name string) bool { return strings.HasPrefix(column, name+" ") }) {
				add = append(add, "ADD COLUMN "+column)
			}
		}
		if len(add) > 0 {
			return "before the functions are updated: ALTER TABLE " + c.Quoted() + " " + strings.Join(add, ", ")
		}
	}
	return ""
}

// repair names all on the table that can refuse or suppress a write.
func (c *postgresCheck) repair(ctx context.Context, _ error) (Verdict, string) {
	all, err := c.texts(ctx, `SELECT format('ALTER TABLE %s DROP CONSTRAINT %I, ADD %s', $1::text, conname, regexp_replace(pg_get_constraintdef(oid), ' DEFERRABLE.*', ''))
			FROM pg_constraint WHERE conrelid = to_regclass($1) AND condeferrable AND contype IN ('p', 'u')
		UNION ALL SELECT format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', $1::text) FROM pg_class WHERE oid = to_regclass($1) AND relrowsecurity
		UNION ALL SELECT format('ALTER TABLE %s DISABLE TRIGGER %I', $1::text, tgname) FROM pg_trigger WHERE tgrelid = to_regclass($1) AND NOT tgisinternal AND tgenabled <> 'D'
		UNION ALL SELECT format('DROP RULE %I ON %s', rulename, $1::text) FROM pg_rewrite WHERE ev_class = to_regclass($1)`)
	if err != nil {
		return Wrong, ""
	}
	return Wrong, strings.Join(all, "; or ")
}

func (c *postgresCheck) texts(ctx context.Context, sql string) ([]string, error) {
	rows, err := c.Pool.Query(ctx, sql, c.Quoted())
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
