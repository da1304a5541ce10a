package main

import (
	"errors"
	"flag"
	"io"
	"net/http"
	"strings"

	"github.com/lambda-once/once/handlers/httpapi"
)

// response is the response that all callers of package httpapi get.
type response struct {
	status  int
	headers http.Header
	body    string
}

func (r *response) add(f *flag.FlagSet) {
	f.IntVar(&r.status, "http", 0, "for callers of package httpapi: the response's `status`")
	f.StringVar(&r.body, "body", "", "with --http, a `file` with the response's body; - is standard input, and then --yes is needed")
	r.headers = http.Header{}
	f.Func("header", "with --http, a header of the response as `name:value`; several are allowed", func(line string) error {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return errors.New("it is not name:value")
		}
		r.headers.Add(name, strings.TrimSpace(value))
		return nil
	})
}

func (r *response) check(c *call) error {
	switch {
	case !c.given("http") && (c.given("body") || c.given("header")):
		return endf(codeUsage, "--body and --header are for --http")
	case c.given("body") && r.body == "":
		return endf(codeUsage, "--body names no file; is a variable unset?")
	}
	return nil
}

// encode returns the response as package httpapi stores it.
func (r *response) encode(in io.Reader) (data []byte, err error) {
	var body []byte
	if r.body != "" {
		body, err = readFile(r.body, in)
	}
	if err == nil {
		data, err = httpapi.EncodeResponse(r.status, r.headers, body)
	}
	if err != nil {
		return nil, &ending{codeUsage, err}
	}
	return data, nil
}
