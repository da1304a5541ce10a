package kill

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Table aligns the columns of rows.
func Table(rows [][]any) string {
	var text strings.Builder // to which writing does not fail
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintf(w, "  %v"+strings.Repeat("\t%v", len(row)-1)+"\n", row...)
	}
	w.Flush()
	return text.String()
}
