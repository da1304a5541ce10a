package dynamo

// The expressions of all writes. Names and values are always placeholders:
// several names are words that DynamoDB reserves, and all can be renamed.
const (
	// A record expires with its retention. While it is in progress, its lease
	// must have ended too, or be absent: a long heartbeat may extend a lease past
	// the retention, and the record is then alive.
	condAbsent       = `attribute_not_exists(#id)`
	condAbsentOrOver = `attribute_not_exists(#id) OR (#exp < :over_s AND (#status <> :inprogress OR attribute_not_exists(#lease) OR #lease < :over_ms))`

	// The fence. It includes the status: an owner's delayed write must not change
	// a record that is finished.
	condOwned   = `#owner = :owner AND #status = :inprogress`
	condOwnless = `attribute_not_exists(#owner) AND #status = :inprogress`

	// The rest of the fence for a new owner: the record must be as it was read.
	condLease     = ` AND #lease = :read_lease`
	condNoLease   = ` AND attribute_not_exists(#lease)`
	condAttempt   = ` AND #attempt = :read_attempt`
	condNoAttempt = ` AND attribute_not_exists(#attempt)`
	// Powertools' leases may have fractions of a millisecond, which are read
	// rounded up.
	condForeignLease = ` AND #lease > :before_lease AND #lease <= :read_lease`

	// A delayed heartbeat never shortens a lease.
	condForward = ` AND #lease < :lease`
	// size() fails on an absent attribute, hence both.
	condNoSteps = ` AND (attribute_not_exists(#steps) OR size(#steps) = :zero)`
	condNoMap   = ` AND attribute_not_exists(#steps)`

	// An update, and not a Put of the copy that was read, keeps the attributes that
	// further programs have added.
	setTakeOver = `SET #owner = :new_owner, #lease = :lease, #attempt = if_not_exists(#attempt, :one) + :one, #steps = if_not_exists(#steps, :empty)`
	setExtend   = `SET #lease = :lease`
	setFinish   = `SET #status = :status`
	setStepMap  = `SET #steps = :steps`
	setKeep     = `SET #lease = :zero`

	andBegan       = `, #began = :began`
	andData        = `, #data = :data`
	andEnded       = `, #ended = :ended`
	andExpires     = `, #exp = :exp`
	andFingerprint = `, #validation = if_not_exists(#validation, :validation)`
	andOwner       = `, #owner = :new_owner`

	removeFinish = ` REMOVE #steps, #request, #lease`
	// The owner is removed as well: a delayed Extend of the released owner must
	// not revive the lease.
	removeKeep = ` REMOVE #owner`
	// A release by a person, who knows the effects of the attempts before it.
	removeBegan = `, #began`
	removeEnded = `, #ended`
	addRefund   = ` ADD #refunds :one`
)
