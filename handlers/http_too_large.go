package handlers

// SafeText returns the whole text.
func (e *ResponseTooLargeError) SafeText() string { return e.Error() }
