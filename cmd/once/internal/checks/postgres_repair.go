package checks

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lambda-once/once/postgres"
)

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
