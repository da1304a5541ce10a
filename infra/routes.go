package infra

import (
	"regexp"
	"slices"
	"strings"
)

// routePath matches / or segments, each a text or a variable. Neither CDK nor API
// Gateway accepts a / at the end.
var routePath = regexp.MustCompile(`^/$|^(/(` + segment + `|\{[\w.:-]+\}))*/(` + segment + `|\{[\w.:-]+\+?\})$`)

// segment matches the characters of a path in RFC 3986.
const segment = `[\w.~!$&'()*+,;=:@%-]+`

func refuseRoutes(routes []string) problems {
	var found problems
	there := map[string]bool{}
	for _, route := range routes {
		method, path, _ := strings.Cut(route, " ")
		known := slices.Contains([]string{"ANY", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}, method)
		found.when(!known || !routePath.MatchString(path),
			"Routes: %q is not a method and a path, as in \"POST /payments\" or \"GET /payments/{id}\"", route)
		found.when(there[routeID(route)], "Routes: %q is listed twice", route)
		there[routeID(route)] = true
	}
	return found
}

// routeID returns the part of a construct id by which CDK distinguishes routes.
func routeID(route string) string { return strings.ReplaceAll(route, "/", "--") }
