package record

import "flag"

// A Statement is who acts, and why. A person states both, so that they prove nothing.
type Statement struct {
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func (s *Statement) Add(f *flag.FlagSet) {
	f.StringVar(&s.By, "by", "", "the `name` of who does this: journals keep it, and resolved and redacted records 256 bytes of it; it is stated, and so no proof")
	f.StringVar(&s.Reason, "reason", "", "a `text` that says why: journals keep it, and resolved and redacted records 512 bytes of it; no personal data")
}
