// Package seal encrypts what records hold of the work, before it leaves the
// process: with AES-256-GCM, under keys that rotate.
//
//	keys, err := seal.Static("2026", map[string][]byte{"2026": key})
//	x, err := idempotent.New("create-payment", store, &idempotent.Config{Sealer: seal.New(keys, nil)})
//
// # What is encrypted
//
// Results, stored errors and finished steps, be they in the record or in a
// payload store. Each opens only in its own place: one that was moved to
// another record, or from an error to a result, is refused, and so is one with
// a single bit changed, and one that nobody has sealed.
//
// Not encrypted are the ids of records, which hold the operation and a hash of
// scope and ID, names of steps, times, attempts, and the fingerprint. The
// fingerprint is an unsalted hash of the payload: whoever reads the table can
// confirm a guess of it, and tell equal payloads. For payloads that can be
// guessed, fingerprint a keyed hash of them instead (idempotent.Key.Fingerprint).
// The size of what is sealed shows, too. Whoever can write the table can still
// delete records, mark a result as unavailable or a step as undone, mark a
// record as done where no result is asked for (idempotent.WrapEffect), and put
// back what was sealed for the same id before, be it in another table.
//
// # What it costs
//
// What is sealed no longer compresses. It is larger by 40 bytes, the key's id,
// and with [DataKeys] the wrapped key: some 300 bytes with AWS KMS.
//
// # Rotation
//
// Every sealed value names its key. To rotate static keys, first give all
// functions the new key beside the current one; then make it current; then, when
// the longest Retention is over since the last function has changed, and no
// record in progress has steps from before (with Config.MaxAttempts one may wait
// for a person), drop the old one. Data keys rotate by themselves; for another KMS key, name the old
// one in DataKeyOptions.Former for as long.
//
// What was sealed with a key that is gone cannot be opened: its callers get an
// *idempotent.ResultUnavailableError until the retention ends. The work is not
// run again.
package seal
