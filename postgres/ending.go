package postgres

import "strings"

// endsTransaction reports whether sql begins with a command that ends the transaction. A
// handler's must not be sent: what comes before it would be committed without the
// record, or lost, and what comes after it would be committed in any case.
//
// It looks at the first command alone, which is all that the extended protocol allows.
func endsTransaction(sql string) bool {
	words := strings.FieldsFunc(strings.ToUpper(uncommented(sql)), func(r rune) bool { return r < 'A' || r > 'Z' })
	if len(words) == 0 {
		return false
	}
	first, rest := words[0], words[1:]
	if len(rest) > 0 && (rest[0] == "WORK" || rest[0] == "TRANSACTION" && first != "PREPARE") {
		rest = rest[1:]
	}
	switch first {
	case "COMMIT", "END", "ABORT":
		return true
	case "ROLLBACK": // TO a savepoint ends nothing
		return len(rest) == 0 || rest[0] != "TO"
	case "PREPARE":
		return len(rest) > 0 && rest[0] == "TRANSACTION"
	}
	return false
}

// uncommented returns the beginning of sql, from its first command on.
func uncommented(sql string) string {
	for {
		sql = strings.TrimLeft(sql, "; \t\r\n\f\v")
		switch {
		case strings.HasPrefix(sql, "--"):
			_, sql, _ = strings.Cut(sql, "\n")
		case strings.HasPrefix(sql, "/*"):
			sql = afterComment(sql[2:])
		default:
			return sql[:min(len(sql), 200)]
		}
	}
}

// afterComment returns what follows a comment that has begun. Comments nest.
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
