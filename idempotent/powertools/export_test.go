package powertools

var (
	Varies      = varies
	ToLowerCase = toLowerCase
)

// CanonicalText returns what is hashed of a whole event.
func CanonicalText(d Dialect, event string) ([]byte, error) {
	v, err := decode(d, event, nil)
	if err != nil {
		return nil, err
	}
	return canonicalText(d, v)
}
