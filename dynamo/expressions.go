package dynamo

// The expressions of all writes. Names and values are always placeholders:
// several names are words that DynamoDB reserves, and all can be renamed.
const (
	// A record is over when its retention is, and, while it is in progress,
	// its lease too, or it has none: a long heartbeat may carry a lease past
	// the retention, and the record under it is alive.
	condAbsent       = `attribute_not_exists(#id)`
	condAbsentOrOver = `attribute_not_exists(#id) OR (#exp < :over_s AND (#status <> :inprogress OR attribute_not_exists(#lease) OR #lease < :over_ms))`

	// The fence. Status belongs to it: an owner's delayed write must not
	// change a record that is finished.
	condOwned   = `#owner = :owner AND #status = :inprogress`
	condOwnless = `attribute_not_exists(#owner) AND #status = :inprogress`

	// More of the fence for who becomes the owner: the record must be the
	// very one that was read.
	condLease     = ` AND #lease = :read_lease`
	condNoLease   = ` AND attribute_not_exists(#lease)`
	condAttempt   = ` AND #attempt = :read_attempt`
	condNoAttempt = ` AND attribute_not_exists(#attempt)`

	// A delayed heartbeat never shortens a lease.
	condForward = ` AND #lease < :lease`
	// size() fails on an absent attribute, hence both.
	condNoSteps = ` AND (attribute_not_exists(#steps) OR size(#steps) = :zero)`
	condNoMap   = ` AND attribute_not_exists(#steps)`

	// An update and not a Put of the copy just read: what others have added
	// to the item stays.
	setTakeOver = `SET #owner = :new_owner, #lease = :lease, #attempt = if_not_exists(#attempt, :one) + :one, #steps = if_not_exists(#steps, :empty)`
	setExtend   = `SET #lease = :lease`
	setFinish   = `SET #status = :status`
	setStepMap  = `SET #steps = :steps`
	setKeep     = `SET #lease = :zero`

	andData        = `, #data = :data`
	andExpires     = `, #exp = :exp`
	andFingerprint = `, #validation = if_not_exists(#validation, :validation)`
	andOwner       = `, #owner = :new_owner`

	removeFinish = ` REMOVE #steps, #lease`
	// Removing the owner as well: the released owner's delayed Extend must
	// not bring the lease back to life.
	removeKeep = ` REMOVE #owner`
	addRefund  = ` ADD #refunds :one`
)
