package postgres

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"
)

// endsTransaction reports whether sql begins with a command that ends the transaction. A
// handler's must not be sent: the statements before it would be committed without the
// record, or lost, and those after it would be committed in any case.
//
// It looks at the first command alone, which is all that the extended protocol allows. For
// the simple protocol, see mayEndTransaction.
func endsTransaction(sql string) bool {
	first, rest := firstWord(sql)
	for first == "" && strings.HasPrefix(rest, ";") {
		first, rest = firstWord(rest[1:])
	}
	second, rest := firstWord(rest)
	if second == "WORK" || second == "TRANSACTION" && first != "PREPARE" {
		second, _ = firstWord(rest)
	}
	switch first {
	case "COMMIT", "END", "ABORT":
		return true
	case "ROLLBACK": // TO a savepoint ends nothing
		return second != "TO"
	case "PREPARE":
		return second == "TRANSACTION"
	}
	return false
}

// firstWord returns the word with which sql begins, in capitals, and the rest. Without
// one, it returns "".
func firstWord(sql string) (first, rest string) {
	sql = uncommented(sql)
	end := strings.IndexFunc(sql, func(r rune) bool {
		return r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if end < 0 {
		end = len(sql)
	}
	return strings.ToUpper(sql[:end]), sql[end:]
}

// uncommented returns sql without the comments and spaces with which it begins.
func uncommented(sql string) string {
	for {
		sql = strings.TrimLeft(sql, " \t\r\n\f\v")
		switch {
		case strings.HasPrefix(sql, "--"):
			end := strings.IndexAny(sql, "\r\n") // PostgreSQL takes either
			if end < 0 {
				return ""
			}
			sql = sql[end:]
		case strings.HasPrefix(sql, "/*"):
			sql = afterComment(sql[2:])
		default:
			return sql
		}
	}
}

// afterComment returns the text after a comment that has begun. Comments nest.
func afterComment(sql string) string {
	for depth := 1; depth > 0; {
		at := strings.IndexAny(sql, "/*")
		if at < 0 {
			return ""
		}
		switch {
		case strings.HasPrefix(sql[at:], "*/"):
			depth--
			at++
		case strings.HasPrefix(sql[at:], "/*"):
			depth++
			at++
		}
		sql = sql[at+1:]
	}
	return sql
}

// mayEndTransaction reports whether sql may be several commands, and a later one may end
// the transaction. It does not parse sql, so a word in a string or in a body counts, too.
//
// Only the simple protocol runs several commands, and pgx uses it for each Exec without
// arguments. By the extended protocol PostgreSQL itself refuses them.
func mayEndTransaction(sql string) bool {
	if !strings.Contains(strings.TrimRight(sql, "; \t\r\n\f\v"), ";") {
		return false
	}
	words := strings.FieldsFunc(strings.ToUpper(sql), func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return slices.ContainsFunc(words, func(word string) bool {
		switch word {
		case "COMMIT", "END", "ABORT", "ROLLBACK", "PREPARE":
			return true
		}
		return false
	})
}

// checkRewriters refuses a [pgx.QueryRewriter] other than pgx's named arguments: the text
// that it returns is sent unseen, and may end the transaction.
func checkRewriters(index int, args []any) *TransactionError {
	for _, arg := range args {
		switch arg.(type) {
		case pgx.NamedArgs, pgx.StrictNamedArgs:
		case pgx.QueryRewriter:
			return transactionError(index, fmt.Errorf("a %T is not one of pgx's named arguments", arg))
		}
	}
	return nil
}

func isSimple(conn *pgx.Conn) bool {
	return conn.Config().DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol
}

// extended returns the arguments with which pgx sends a text that may end the transaction
// by the extended protocol.
func extended(conn *pgx.Conn, sql string, args []any) []any {
	if !mayEndTransaction(sql) {
		return args
	}
	args, simple := slices.Clone(args), isSimple(conn)
	for i, arg := range args {
		if mode, ok := arg.(pgx.QueryExecMode); ok {
			if simple = mode == pgx.QueryExecModeSimpleProtocol; simple {
				args[i] = pgx.QueryExecModeExec
			}
		}
	}
	if simple {
		args = slices.Insert(args, 0, any(pgx.QueryExecModeExec))
	}
	return args
}
