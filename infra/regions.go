package infra

import (
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
)

// Replica is another Region of a table.
type Replica struct {
	Region string
	// KeyARN is the key that encrypts this replica; required with
	// IdempotencyTableProps.Key, and only with it.
	KeyARN string
}

// Writers says where the functions are that write to a table with eventually
// consistent replicas. Such a replica evaluates a condition on its own state,
// and the last writer wins: two Regions can own one key at the same time, and
// neither notices.
type Writers uint8

const (
	// WritersAnywhere is what has to be assumed where nothing is stated. Only
	// a Strong table locks under it.
	WritersAnywhere Writers = iota
	// WritersInOneRegion: the replicas are read, or wait to take over. A
	// failover forgets claims and completions that were not replicated yet.
	WritersInOneRegion
	// WritersByHomeRegion: several Regions write, but each key in its home
	// Region only, which the callers see to.
	WritersByHomeRegion
)

func refuseUnsafeRegions(scope constructs.Construct, p *IdempotencyTableProps) problems {
	var found problems
	region := awscdk.Stack_Of(scope).Region()
	explicit := !*awscdk.Token_IsUnresolved(region)
	regions := map[string]bool{}
	if explicit {
		regions[*region] = true
	}
	for _, r := range p.Replicas {
		found.when(r.Region == "", "Replicas: a Region is empty")
		found.when(regions[r.Region], "Replicas: %s is there twice, or is the Region of the stack", r.Region)
		found.when(p.Key != nil && r.KeyARN == "", "Replicas: %s needs the KeyARN of a key there, as the table has a Key", r.Region)
		found.when(p.Key == nil && r.KeyARN != "", "Replicas: %s has a KeyARN, but the table no Key", r.Region)
		regions[r.Region] = true
	}
	found.when(p.Witness != "" && explicit && p.Witness == *region, "Witness: %s is the Region of the stack, which holds the table", p.Witness)
	several := len(p.Replicas) > 0
	found.when(several && !explicit, "Replicas: the stack must have an explicit Region (StackProps.Env)")
	found.when(!slices.Contains([]Writers{WritersAnywhere, WritersInOneRegion, WritersByHomeRegion}, p.Writers), "Writers: %d is unknown", p.Writers)
	found.when(!several && p.Writers != WritersAnywhere, "Writers: the table has no Replicas")
	found.when(several && !p.Strong && p.Writers == WritersAnywhere,
		"Writers: eventually consistent replicas evaluate conditions each on its own state, so that two Regions can own one key at once. "+
			"State WritersInOneRegion or WritersByHomeRegion if that is so, or make the table Strong")
	return append(found, refuseUnsafeStrong(p)...)
}

func refuseUnsafeStrong(p *IdempotencyTableProps) problems {
	var found problems
	if !p.Strong {
		found.when(p.Witness != "", "Witness: only a Strong table has one")
		return found
	}
	found.when(p.Writers != WritersAnywhere, "Writers: a Strong table locks with writers anywhere; leave it out")
	found.when(!(len(p.Replicas) == 2 && p.Witness == "") && !(len(p.Replicas) == 1 && p.Witness != ""),
		"Strong: it needs two Replicas, or one and a Witness")
	found.when(slices.ContainsFunc(p.Replicas, func(r Replica) bool { return r.Region == p.Witness }), "Witness: it is a Region of the Replicas")
	found.when(!p.SweptElsewhere,
		"Strong: DynamoDB has no time to live on a table with strong consistency across Regions, so that records which are over stay. "+
			"Run a program that deletes them (GrantSweep is for its role), and state SweptElsewhere")
	return found
}
