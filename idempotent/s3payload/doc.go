// Package s3payload stores large results in Amazon S3.
//
//	payloads, err := s3payload.New(s3.NewFromConfig(cfg), "results", nil)
//	x, err := idempotent.New("render", store, &idempotent.Config{Payloads: payloads})
//
// # Objects
//
// The key of an object is a prefix and the SHA-256 of its content in hexadecimal.
// The reference in the record contains the key and the size, and the object must
// agree with both. If the object is missing or altered, the call returns an
// *idempotent.ResultUnavailableError. It wraps a [*MissingError] or an
// [*AlteredError]. The work does not run again.
//
// A reader of the bucket's list sees which results are equal, and can confirm a
// guess of a result. With a Sealer (see package seal) the content is encrypted
// first, and each object is unique.
//
// A reference is not bound to its record. A program that can write the table can
// make a call return the result of a different record, also of a different function
// with the same bucket and prefix. A Sealer refuses such a result. Without one, use
// separate prefixes, with separate permissions, for operations whose results must
// stay apart.
//
// # Lifecycle
//
// Set a lifecycle rule on the prefix that expires objects some days later than
// the longest Retention. Equal results share an object. Every Put writes it
// again, so its age counts from the last Put. Leave versioning off, or expire
// noncurrent versions too.
//
// A finished record expires after its Retention. A record in progress stays while
// it is retried and, with Config.MaxAttempts, until a person decides. Its
// finished steps refer to objects that are as old as the steps. If such an object
// is missing, the record can neither continue nor be undone. With large steps,
// add to the rule the longest time from a first attempt to that decision.
//
// An object is put before its record is written. If the attempt stops in between,
// or its transaction is rejected, nothing refers to the object, and the rule
// removes it.
//
// # Permissions
//
// Functions need s3:PutObject and s3:GetObject on the prefix. Without
// s3:ListBucket on the bucket, S3 returns 403 for a missing object, which is then
// reported as an [*Error] and not as a [*MissingError].
//
// # Time
//
// A result is put after the handler has returned, in the time of Config.Reserve.
// Set it to more than the default of 500 ms.
//
// Outside Lambda, the put uses the rest of the Lease: at least two thirds of it when
// the handler returns, because it is not extended any more. Two thirds of
// that are for the put, and half of these for its first try. Set the Lease to six
// times the time that a put may take.
//
// # Memory
//
// A put needs memory for the result, its sealed form and the request at once. A
// function that runs out of memory there has done its work without recording it,
// and the next attempt repeats the work. Its memory must be several times
// Options.MaxBytes.
package s3payload
