// Package needs runs make where programs are missing: it names all of them at once, and
// installs none unasked.
package needs
