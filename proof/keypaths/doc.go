// Package keypaths compares the keys of package keypath with those of its first
// engine: go-jmespath of JMESPath Community with patches for exact numbers, the order
// of objects and errors. A key that comes out differently is a second charge.
package keypaths
