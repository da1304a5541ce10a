package redis

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// The page names exactly the rights that the store needs.
func TestTheRightsOfThePageSuffice(t *testing.T) {
	page, err := os.ReadFile("../docs/redis.md")
	must(t, err)
	line := regexp.MustCompile(`(?m)^ACL SETUSER .*$`).FindString(string(page))
	server := realServer(t)
	story := func(rights []string) string {
		var args []any
		for _, word := range append(rights, "+hello", "+client") {
			args = append(args, word)
		}
		for _, command := range [][]any{{"FLUSHALL"}, {"SCRIPT", "FLUSH"}, append(args, "reset"), args} {
			must(t, server.Client().Do(t.Context(), command...).Err())
		}
		client := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: "once", Password: "secret"})
		defer client.Close()
		return story(t, storeOn(t, client, nil))
	}
	rights := strings.Fields(line)
	if got := story(rights); strings.Contains(got, "access denied") {
		t.Errorf("with %s:\n%s", line, got)
	}
	for n, right := range rights {
		if !strings.HasPrefix(right, "+") || right == "+info" {
			continue
		}
		fewer := append(append([]string{}, rights[:n]...), rights[n+1:]...)
		if got := story(fewer); !strings.Contains(got, "access denied") {
			t.Errorf("%s is not needed", right)
		}
	}
}
