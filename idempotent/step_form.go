package idempotent

// The first byte of what a record keeps of a step says what follows.
const (
	stepData        = '=' // its result
	stepUnavailable = '!' // why there is none
	stepPayload     = '@' // where its result is kept
	stepRoom        = '#' // nothing: see roomStep
)

// stepUndoable stands before that, if the call has to undo the step when it
// fails for good.
const stepUndoable = '~'

func tagged(e storedForm) []byte {
	switch {
	case e.unavailable != "":
		return append([]byte{stepUnavailable}, e.unavailable...)
	case e.payload != "":
		return append([]byte{stepPayload}, e.payload...)
	default:
		return append([]byte{stepData}, e.data...)
	}
}

func untagged(stored []byte) storedForm {
	if isUndoable(stored) {
		stored = stored[1:]
	}
	if len(stored) == 0 {
		return storedForm{unavailable: "what is stored is no result of a step"}
	}
	switch rest := stored[1:]; stored[0] {
	case stepData:
		return storedForm{data: rest}
	case stepPayload:
		return storedForm{payload: string(rest)}
	case stepUnavailable:
		return storedForm{unavailable: "it could not be kept: " + string(rest)}
	default:
		return storedForm{unavailable: "what is stored is no result of a step"}
	}
}

func isUndoable(stored []byte) bool { return len(stored) > 0 && stored[0] == stepUndoable }

func (st *step) marked(stored []byte) []byte {
	if st.undo == nil {
		return stored
	}
	return append([]byte{stepUndoable}, stored...)
}
