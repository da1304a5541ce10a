// Package resume proves that the work of a dead process is finished without its caller: a
// saga behind HTTP, killed before and after each of its calls, whose client never comes
// back.
package resume
