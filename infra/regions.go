package infra

import (
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
)

// A Replica is a copy of a table in a second Region.
type Replica struct {
	Region string
	// KeyARN is the ARN of the key that encrypts this replica. It is required
	// with IdempotencyTableProps.Key, and refused without.
	KeyARN string
}

// Writers states which Regions write to a table with eventually consistent
// replicas. Such a replica evaluates a condition on its own state, and the last
// writer wins. Two Regions can therefore own one key at the same time without
// noticing it.
type Writers uint8

const (
	// WritersAnywhere means that any Region may write. Only a Strong table
	// locks safely then.
	WritersAnywhere Writers = iota
	// WritersInOneRegion means that one Region writes. The rest read, or stand
	// by. A failover loses claims and completions that were not replicated yet.
	WritersInOneRegion
	// WritersByHomeRegion means that several Regions write, but each key only
	// in its home Region. The callers must ensure that.
	WritersByHomeRegion
)

func refuseUnsafeRegions(scope constructs.Construct, p *IdempotencyTableProps) (found problems) {
	region := awscdk.Stack_Of(scope).Region()
	explicit := !*awscdk.Token_IsUnresolved(region)
	regions := map[string]bool{}
	if explicit {
		regions[*region] = true
	}
	for _, r := range p.Replicas {
		found.when(r.Region == "", "Replicas: a Region is empty")
		found.when(regions[r.Region], "Replicas: %s is listed twice, or is the Region of the stack", r.Region)
		found.when(p.Key != nil && r.KeyARN == "", "Replicas: %s needs the KeyARN of a key there, as the table has a Key", r.Region)
		found.when(p.Key == nil && r.KeyARN != "", "Replicas: %s has a KeyARN, but the table has no Key", r.Region)
		regions[r.Region] = true
	}
	found.when(p.Witness != "" && explicit && p.Witness == *region, "Witness: %s is the Region of the stack, which contains the table", p.Witness)
	several := len(p.Replicas) > 0
	found.when(several && !explicit, "Replicas: the stack must have an explicit Region (StackProps.Env)")
	found.when(!slices.Contains([]Writers{WritersAnywhere, WritersInOneRegion, WritersByHomeRegion}, p.Writers), "Writers: %d is unknown", p.Writers)
	found.when(!several && p.Writers != WritersAnywhere, "Writers: the table has no Replicas")
	found.when(several && !p.Strong && p.Writers == WritersAnywhere,
		"Writers: each eventually consistent replica evaluates conditions on its own state, so that two Regions can own one key at once. "+
			"State WritersInOneRegion or WritersByHomeRegion if that is so, or make the table Strong")
	return append(found, refuseUnsafeStrong(p)...)
}

func refuseUnsafeStrong(p *IdempotencyTableProps) (found problems) {
	if !p.Strong {
		found.when(p.Witness != "", "Witness: only a Strong table has one")
		return found
	}
	found.when(p.Writers != WritersAnywhere, "Writers: a Strong table locks with writers anywhere; leave it out")
	found.when(!(len(p.Replicas) == 2 && p.Witness == "") && !(len(p.Replicas) == 1 && p.Witness != ""),
		"Strong: it needs two Replicas, or one and a Witness")
	found.when(slices.ContainsFunc(p.Replicas, func(r Replica) bool { return r.Region == p.Witness }), "Witness: it is a Region of the Replicas")
	found.when(!p.SweptElsewhere,
		"Strong: DynamoDB has no time to live on a table with strong consistency across Regions, so that expired records stay. "+
			"Run a program that deletes them (see GrantSweep), and set SweptElsewhere")
	return found
}
