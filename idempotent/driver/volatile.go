package driver

// Volatile is implemented by a [Store] that may lose its records with the
// process. On Lambda, idempotent.New logs a warning for such a store: a second
// instance of the function does not know its records.
type Volatile interface {
	// Volatile reports whether the records end with the process.
	Volatile() bool
}
