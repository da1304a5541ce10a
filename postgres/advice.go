package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// advice returns the next step after an error, or "".
func advice(err error) string {
	_, crowded := errors.AsType[*PoolError](err)
	_, isScan := errors.AsType[pgx.ScanArgError](err)
	_, unreadable := errors.AsType[*unreadableError](err)
	switch {
	case crowded:
		return "raise the MaxConns of the pool: a transaction needs one connection, and its steps, heartbeats and nested calls need another"
	case unreadable:
		return "a stored row is not a record; check that no other program writes this table"
	case isScan:
		return "a value cannot be read; without prepared statements values arrive as text, so the role needs datestyle = 'ISO' and bytea_output = 'hex' (ALTER ROLE … SET …)"
	case errors.Is(err, context.Canceled):
		return "the caller's context was cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer before the deadline; check the way to the server, the size of the pool and the time that is left for the call"
	}
	switch code := codeOf(err); code {
	case "":
		if isUnavailable(err) {
			return "PostgreSQL could not be reached; check the network and the connection string"
		}
	case "42P01", "3F000":
		return "the table does not exist; run the statements of postgres.SQL in a migration, and check Options.Schema and the search_path"
	case "42703", "42804":
		return "the table has other columns than these options need; compare it with postgres.SQL, and add what is missing with ALTER TABLE"
	case "42P10":
		return "the column of the id is not the primary key"
	case "42501":
		if isRowSecurity(err) {
			return "row-level security hides the row or refuses it; disable it on the table, or have a policy allow the role all rows"
		}
		return "permission denied; grant SELECT, INSERT, UPDATE and DELETE on the table to the role"
	case "28000", "28P01", "3D000":
		return "the server refuses the login; check the role, its password and the name of the database"
	case "0A000":
		return "the server lacks a feature; on Aurora DSQL, set Options.DSQL"
	case readOnlyCode:
		return "the server is read-only; connect to the primary, for example with target_session_attrs=read-write"
	case "26000", "42P05":
		return "a pooler between the function and PostgreSQL does not support prepared statements; set the pool's DefaultQueryExecMode to pgx.QueryExecModeExec"
	case "40001", "40P01":
		return "the write lost conflicts with other transactions; try again"
	case "54000":
		return "a limit of Aurora DSQL is reached; lower Options.MaxSize"
	case "55P03", "57014":
		return "the server cancelled the statement at its timeout; a transaction that takes long may lock the record"
	case "25P03", "25P04":
		return "the server ended the transaction at its timeout; do what takes long before postgres.Transaction, or use postgres.Collect"
	default:
		switch {
		case strings.HasPrefix(code, "53"):
			return "the server has no resources left; lower the size of the pools, put a proxy in between, or raise its limits"
		case isUnavailableCode(code):
			return "PostgreSQL could not answer; try again"
		}
	}
	return ""
}

// isRowSecurity reports whether the policy of a row has refused a write, which has the code of
// a missing right. The server may speak any language, and quotes the name of the table alone.
func isRowSecurity(err error) bool {
	answer, ok := errors.AsType[*pgconn.PgError](err)
	return ok && answer.Routine == "ExecWithCheckOptions"
}
