// Package docs tests README.md, CONTRIBUTING.md, SECURITY.md and the pages of
// docs/, and holds the code that they quote.
//
// Each page has a file of tests here, named after it: the code of
// docs/http.md is in http_test.go. A block of Go in a page is a copy of
// compiled code anywhere in this repository. A block that begins with a
// package clause is a copy of a whole file. The tests also follow every link,
// and look up every name of an exported identifier.
package docs
