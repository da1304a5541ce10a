// Package coldstart bounds the cost of Once before main: the size of the
// program and the time it takes to start. It compares a program that calls
// DynamoDB by hand with a protected one.
package coldstart
