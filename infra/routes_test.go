package infra

import "testing"

func TestRoutesThatMatchNothingAreRefused(t *testing.T) {
	for _, path := range []string{
		"/x y", "/x ", "/ x", " /x", "/x\ty", "x", "", "//", "/x//y", "/x/", "/x?y=1", "/x#y", "/ä", "/x{id}", "/{id}.json", "/{id", "/id}",
		"/{}", "/{+}", "/{proxy+}/x", "/{a b}", "/x\n", `/x\y`,
	} {
		wantRefusal(t, "is not a method and a path", func() { api(t, "POST "+path) })
	}
	for _, method := range []string{"post", "CONNECT", "*", "POST,PUT", "$default", ""} {
		wantRefusal(t, "is not a method and a path", func() { api(t, method+" /x") })
	}
}

func TestRoutes(t *testing.T) {
	wantRefusal(t, "", func() {
		api(t, "ANY /", "GET /payments/{id}", "PUT /payments/{id}", "POST /v1.0/a-b_c~d/@x:y", "ANY /files/{proxy+}", "POST /{a}/{b.c}/d")
	})
}

// CDK takes the second for the first, and panics in words of its own.
func TestRouteThatIsThereTwiceIsRefused(t *testing.T) {
	wantRefusal(t, `"POST /x" is listed twice`, func() { api(t, "POST /x", "PUT /x", "POST /x") })
	wantRefusal(t, `"POST /a--b" is listed twice`, func() { api(t, "POST /a/b", "POST /a--b") })
}

func api(t *testing.T, routes ...string) {
	t.Helper()
	newFunction(t, newStack(), nil).AddHTTPAPI("API", &HTTPAPIProps{Public: true, Routes: routes})
}
