package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/internal/check"
)

func TestMisuseHasItsOwnCode(t *testing.T) {
	s := newScene(t)
	s.claimed("pay#1", "a", time.Now().Add(time.Hour))
	t.Setenv("DATABASE_URL", "")
	const nowhere = "127.0.0.1:1"
	for say, args := range map[string][]string{
		"Each command has --help":                  {},
		`there is no command "nonsense"`:           {"nonsense"},
		"KEY is missing":                           {"inspect"},
		"--scope needs the --operation":            {"inspect", "order-1", "--scope", "ada"},
		"one argument too many":                    {"inspect", "pay#1", "pay#2"},
		"contains a '#'":                           {"inspect", "x", "--operation", "a#b"},
		"flag provided but not defined":            {"list", "--no-such-flag"},
		"it is none of [completed failed":          {"list", "--state", "DONE"},
		"--older-than is a time ago":               {"list", "--error", "E", "--older-than", "1h"},
		"set --table":                              {"list", "--table", ""},
		"name=attribute":                           {"list", "--attribute", "colour=red"},
		"need the --sort-key":                      {"list", "--partition", "a"},
		"--prefix excludes --operation":            {"list", "--prefix", "a", "--operation", "a"},
		"either --completed or --failed":           {"resolve", "pay#1"},
		"set either --completed or --failed ":      {"resolve", "pay#1", "--completed", "--failed", "no"},
		"--data and --no-result are for":           {"resolve", "pay#1", "--failed", "no", "--data", "-"},
		"--failed has an empty message":            {"resolve", "pay#1", "--failed", ""},
		"--data or --body names no file":           {"resolve", "pay#1", "--completed", "--data", ""},
		"set --data FILE, --no-result or --http":   {"resolve", "pay#1", "--completed"},
		"set --data FILE, --no-result":             {"resolve", "pay#1", "--completed", "--data", "-", "--no-result", "--yes"},
		"--http excludes --data":                   {"resolve", "pay#1", "--http", "201", "--no-result"},
		"--http excludes --data, --no-result":      {"resolve", "pay#1", "--http", "409", "--failed", "no"},
		"--body and --header are for --http":       {"resolve", "pay#1", "--completed", "--no-result", "--header", "a:b"},
		"or --body names no file":                  {"resolve", "pay#1", "--http", "201", "--body", ""},
		"the file - is standard input":             {"resolve", "pay#1", "--http", "201", "--body", "-"},
		"the status 99 is not":                     {"resolve", "pay#1", "--http", "99"},
		"the status 0 is not":                      {"resolve", "pay#1", "--http", "0"},
		"with the status 204 has no body":          {"resolve", "pay#1", "--http", "204", "--body", "usage_test.go"},
		"it is not name:value":                     {"resolve", "pay#1", "--http", "201", "--header", "a"},
		"is the server's":                          {"resolve", "pay#1", "--http", "201", "--header", "content-length: 1"},
		"is not one of HTTP":                       {"resolve", "pay#1", "--http", "201", "--header", "a b: c"},
		"or --failed MESSAGE":                      {"resolve", "pay#1", "--completed", "--no-result", "--failed", ""},
		"--clock-skew is negative":                 {"release", "pay#1", "--yes", "--clock-skew", "-2h"},
		"skew is negative":                         {"list", "--clock-skew", "-2h"},
		"set --yes as well":                        {"resolve", "pay#1", "--completed", "--data", "-"},
		"the result is not JSON":                   {"resolve", "pay#1", "--completed", "--data", "usage_test.go", "--force"},
		"no such file":                             {"resolve", "pay#1", "--completed", "--data", "nowhere"},
		"--retention is less than a second":        {"resolve", "pay#1", "--completed", "--no-result", "--retention", "1ms"},
		"give a FUNCTION, its --event":             {"invoke"},
		"--older-than is less than a second":       {"sweep", "--older-than", "-1h"},
		"--limit is negative":                      {"sweep", "--limit", "-1"},
		"--after names no position":                {"sweep", "--after", ""},
		"position; is a variable unset?":           {"list", "--after", ""},
		"--after is no position that once stats":   {"stats", "--after", "?"},
		"--timeout is not more than 0":             {"list", "--timeout", "0s"},
		"the position was not returned by":         {"sweep", "--yes", "--after", "?"},
		"env: set DATABASE_URL, or PGHOST":         {"sweep", "--postgres", "env"},
		"--postgres is empty":                      {"sweep", "--postgres", ""},
		"--schema needs --postgres":                {"sweep", "--schema", "payments"},
		"--after is for DynamoDB":                  {"sweep", "--postgres", "env", "--after", "a"},
		"is not a connection string":               {"sweep", "--postgres", "nonsense"},
		"set --dry-run":                            {"migrate", "-"},
		"--dialect: powertools: no dialect":        {"migrate", "-", "--dry-run", "--dialect", "cobol"},
		"EVENTS is missing":                        {"migrate", "--dry-run", "--dialect", "python", "--prefix", "pay"},
		"the prefix is empty":                      {"migrate", "-", "--dry-run", "--dialect", "python"},
		"path \"id[\"":                             {"migrate", "-", "--dry-run", "--dialect", "python", "--prefix", "pay", "--key", "id["},
		"--hash is none of":                        {"migrate", "-", "--dry-run", "--dialect", "python", "--prefix", "pay", "--hash", "crc32"},
		"--native is for the --dialect typescript": {"migrate", "-", "--dry-run", "--dialect", "python", "--prefix", "pay", "--native"},
		"QUEUE is missing":                         {"redrive"},
		"set --operation and --key":                {"redrive", "dead"},
		"--key or --body: syntax error":            {"redrive", "dead", "--operation", "pay", "--key", "body["},
		"--body is none of":                        {"redrive", "dead", "--operation", "pay", "--key", "body.id", "--body", "xml"},
		`operation "a#b" contains`:                 {"redrive", "dead", "--operation", "a#b", "--key", "body.id"},
		"--scope excludes --key default":           {"redrive", "dead", "--operation", "pay", "--key", "default", "--scope", "ada"},
		"--hold is not between":                    {"redrive", "dead", "--operation", "pay", "--key", "body.id", "--hold", "0s"},
		"--max is less than 1":                     {"redrive", "dead", "--operation", "pay", "--key", "body.id", "--max", "0"},
		"--to none excludes --move":                {"redrive", "dead", "--operation", "pay", "--key", "body.id", "--to", "none", "--move", "will-run"},
		`"no-key" is none of will-run, waiting`:    {"redrive", "dead", "--operation", "pay", "--key", "body.id", "--move", "no-key"},
		"--older-than or --limit is negative":      {"outbox", "--table", "a", "--limit", "-1"},
		"set --table to the ARN":                   {"policy", "--table", "records"},
		"an alias names none":                      {"policy", "--table", tableARN, "--key", "alias/a"},
		"is not the ARN of a key":                  {"policy", "--table", tableARN, "--key", "arn:aws:kms:eu-central-1:123456789012:alias/a"},
		"are for --for function":                   {"policy", "--table", tableARN, "--for", "sweep", "--group"},
		"contains one of *?$#":                     {"policy", "--table", tableARN, "--operation", "pay*"},
		"--for is none of":                         {"policy", "--table", tableARN, "--for", "anybody"},
		"--function is empty":                      {"check", "--function", ""},
		"set --function to the logical ID":         {"alarms", "--function", "a-b"},
		`"a-b" is no logical ID`:                   {"alarms", "--function", "F", "--notify", "a-b"},
		`--operation "é" is`:                       {"alarms", "--function", "F", "--operation", "é"},
		`--operation "a" is listed twice`:          {"alarms", "--function", "F", "--operation", "a", "--operation", "a"},
		`--resumes "a" is listed twice`:            {"alarms", "--function", "F", "--operation", "a", "--resumes", "a"},
		"set --function to the function of":        {"resume", "pay#1"},
		"this is a run on all records of a":        {"release", "--dry-run", "--scope", "ada", "pay#1"},
		"--function needs --write":                 {"ui", "--function", "f"},
		"--port is no number of a port":            {"ui", "--port", "65536"},
		"--relay excludes --operation":             {"alarms", "--function", "F", "--operation", "a", "--relay"},
		// Nothing is sent to a store to which a command or flag does not apply.
		"sweep does not apply to Redis":        {"sweep", "--yes", "--redis", "redis://" + nowhere},
		"migrate does not apply to Redis":      {"migrate", "--dry-run", "--dialect", "python", "-", "--redis", nowhere},
		"migrate does not apply to PostgreSQL": {"migrate", "--dry-run", "--dialect", "python", "-", "--postgres", nowhere},
		"--native is for DynamoDB":             {"list", "--native", "--redis", nowhere},
		"--group needs --function":             {"check", "--group"},
		"--group is for DynamoDB":              {"check", "--group", "--function", "pay", "--postgres", nowhere},
		"--key-prefix needs --redis":           {"list", "--key-prefix", "a"},
		"--table excludes --redis":             {"list", "--table", "a", "--redis", nowhere},
		"--postgres excludes --redis":          {"list", "--postgres", nowhere, "--redis", nowhere},
		"--redis is empty":                     {"list", "--redis", ""},
		"give init":                            {"postgres", "--postgres", nowhere},
		"set --postgres to a connection":       {"postgres", "init"},
	} {
		s.refused(cli.CodeUsage, say, args...)
	}
}

func TestMissingRecordHasItsOwnCode(t *testing.T) {
	s := newScene(t)
	for _, command := range [][]string{{"inspect"}, {"release"}, {"resolve", "--completed", "--no-result"}} {
		s.refused(cli.CodeNoRecord, "no record pay#1 in table", append(command, "pay#1")...)
	}
	s.refused(cli.CodeNoRecord, "; if it is an idempotency key, give its --operation", "inspect", "order-1")
	s.refused(cli.CodeNoRecord, "; if its key has a scope, give --scope", "inspect", "order-1", "--operation", "pay")
}

func TestMissingTableIsAnError(t *testing.T) {
	s := newScene(t)
	s.refused(cli.CodeFailed, "the table does not exist in this account and Region", "list", "--table", "nowhere")
}

// The first text in backquotes stands for the value of a flag, as "--endpoint URL":
// prose there reads as broken.
func TestHelpSaysWhatAFlagTakes(t *testing.T) {
	s := newScene(t)
	for _, c := range commands {
		name := c.Name()
		r := s.run(name, "--help")
		help := r.err
		check.Equal(t, s.run("help", name).err, help)
		if r.code != 0 || !strings.HasPrefix(help, "once "+name) {
			t.Errorf("once %s --help: exit %d\n%s", name, r.code, help)
		}
		for _, flag := range regexp.MustCompile(`(?m)^  --?(\S+)( (.*))?$`).FindAllStringSubmatch(help, -1) {
			switch flag[3] {
			case "", "ARN", "NAME=value", "URL", "code", "connection", "duration", "expression", "file", "column", "id", "message", "name", "name=attribute",
				"name:value", "name=value", "number", "operation", "position", "state", "status", "text", "time", "type":
			default:
				t.Errorf("once %s: -%s takes %q", name, flag[1], flag[3])
			}
			check.True(t, strings.HasPrefix(flag[0], "  --"), "once", name, flag[0], "is written with two dashes elsewhere")
		}
		for _, broken := range []string{"`", "for so long", "begins so", "AWS Region Region", "of the timeout"} {
			check.Lacks(t, help, broken, "once", name)
		}
	}
}

// A line above forty lines of help is not seen.
func TestMistakeIsOneLine(t *testing.T) {
	s := newScene(t)
	for _, args := range [][]string{{"nonsense"}, {"list", "--no-such-flag"}, {"list", "--older-than", "soon"}, {"dynamodb", "--no-such-flag"}} {
		if r := s.run(args...); r.code != cli.CodeUsage || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, "--help") {
			t.Errorf("once %q: exit %d\n%s", args, r.code, r.err)
		}
	}
}

func TestVersionNamesTheProgramAndGo(t *testing.T) {
	s := newScene(t)
	if r := s.run("version"); r.code != 0 || !regexp.MustCompile(`^once \S+, go1\.\S+ \w+/\w+\n$`).MatchString(r.out) {
		t.Errorf("exit %d, %q\n%s", r.code, r.out, r.err)
	}
}

func TestMissingRegionIsNamed(t *testing.T) {
	s := newScene(t)
	for _, variable := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"} {
		t.Setenv(variable, "")
	}
	t.Setenv("AWS_CONFIG_FILE", "none")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	s.refused(cli.CodeUsage, "set --region or AWS_REGION", "list")
}
