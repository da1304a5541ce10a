// Package seal encrypts results before they leave the process, with AES-256-GCM
// under keys that rotate.
//
//	keys, err := seal.Static("2026", map[string][]byte{"2026": key})
//	x, err := idempotent.New("create-payment", store, &idempotent.Config{Sealer: seal.New(keys, nil)})
//
// # Encrypted
//
// Results, stored errors and finished steps are encrypted, in the record and in
// a payload store. A sealed value opens only in its own place: it is refused in
// a different record, or as a result if it was an error. A value that was
// altered, or never sealed, is also refused.
//
// # Not encrypted
//
// The ID of a record, which contains the operation and a hash of scope and ID,
// is not encrypted. Neither are names of steps, times, attempts, the fingerprint
// and the size of a sealed value.
//
// The fingerprint is an unsalted hash of the payload. A reader of the table can
// confirm a guess of a payload, and see which payloads are equal. If payloads can
// be guessed, set idempotent.Key.Fingerprint to a keyed hash of them.
//
// A program that may write to the table can still do the following:
//
//   - delete records
//   - change a result to unavailable, or a step to undone
//   - complete a record of a function without a result (idempotent.WrapEffect)
//   - put back an older sealed value of the same ID, also from a different table
//
// # Cost
//
// A sealed value does not compress. It is larger than the value by 40 bytes and
// the key's ID. With [DataKeys] it also contains the wrapped key, which has some
// 300 bytes with AWS KMS.
//
// # Rotation
//
// Every sealed value names its key. To rotate static keys:
//
//  1. Add the new key to all functions, beside the current one.
//  2. Make it the current key of all functions.
//  3. Wait for the longest Retention, and until no record in progress has steps
//     sealed with the old key. With Config.MaxAttempts, such a record may wait
//     for a person.
//  4. Remove the old key.
//
// Data keys rotate without a deployment. To change the KMS key, name the old one
// in DataKeyOptions.Former for as long.
//
// A value whose key is gone cannot be opened. Its callers receive an
// *idempotent.ResultUnavailableError until the retention ends, and the work does
// not run again.
package seal
