// Package coldstart bounds what Once adds to a function that has not started
// yet: the size of the program, and the time before main. It compares two
// programs, one that calls DynamoDB by hand and one that is protected.
package coldstart
