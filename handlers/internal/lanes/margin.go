package lanes

import "time"

// defaultMargin is the margin, or half of the time left if that is shorter.
const defaultMargin = time.Second

// LastStart returns the time after which no turn begins: a margin before the deadline.
// A margin of 0 stands for the default, the only one that depends on the time left.
// LastStart also returns the margin and the time left. Nothing can start if the margin
// is not shorter.
func LastStart(deadline time.Time, margin time.Duration) (lastStart time.Time, used, left time.Duration) {
	left = time.Until(deadline)
	if margin == 0 {
		margin = min(defaultMargin, left/2)
	}
	return deadline.Add(-margin), margin, left
}
