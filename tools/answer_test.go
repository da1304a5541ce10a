package tools

import (
	"bytes"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lambda-once/once/internal/check"
)

// A result is twice in the body of a response of MCP, which is a text in JSON: each quote
// has two characters in one place, and four in the other.
func TestResultsBeyondSixMegabytesAreRefused(t *testing.T) {
	quotes := bytes.Repeat([]byte(`\"`), 1<<20)
	result := answer{result: append(append([]byte(`"`), quotes...), '"')}
	text := result.toMCP().Content[0].(*mcp.TextContent).Text
	check.Contains(t, text, "its result has 2097154 bytes, which is too large to be returned")
	same, err := result.within(mostBytes, answer.toJSON)
	check.Must(t, err)
	check.Equal(t, len(same), 2<<20+2, "bytes through a gateway, which returns it as it is")

	larger, err := answer{result: make([]byte, mostBytes+1)}.within(mostBytes, answer.toJSON)
	check.Must(t, err)
	check.Contains(t, string(larger), "too large to be returned")
}
