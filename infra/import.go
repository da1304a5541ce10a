package infra

import "github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"

// ImportedTableProps are the props of [ImportIdempotencyTable]. They declare facts that
// CDK does not tell. The zero value of every field is its default.
type ImportedTableProps struct {
	// SortKey is the name of the table's sort key, as in Options.Attributes of package
	// dynamo. Default: none.
	SortKey string
}

// ImportIdempotencyTable uses a table of yours for the records: one that is created
// elsewhere in the app, or an import, also the table of Powertools. Grants and functions
// then work as with [NewIdempotencyTable]. They are for the Region of the stack alone.
// Import an encrypted table with its EncryptionKey, whose use the grants then include.
//
// The table needs a partition key that is a string, and time to live on the attribute of
// expiration, "id" and "expiration" by default. ImportIdempotencyTable checks neither.
//
// ImportIdempotencyTable panics with a [*PropsError] if table is nil.
func ImportIdempotencyTable(table awsdynamodb.ITable, props *ImportedTableProps) *IdempotencyTable {
	if table == nil {
		panic(&PropsError{Construct: "ImportIdempotencyTable", Problems: []string{"table: it is required"}})
	}
	p := orZero(props)
	return &IdempotencyTable{
		Table: table, arns: []*string{table.TableArn()}, sortKey: p.SortKey,
		props: IdempotencyTableProps{Key: table.EncryptionKey()},
	}
}
