// Package s3payload keeps large results in Amazon S3.
//
//	payloads, err := s3payload.New(s3.NewFromConfig(cfg), "results", nil)
//	x, err := idempotent.New("render", store, &idempotent.Config{Payloads: payloads})
//
// # Objects
//
// An object's key is a prefix and the SHA-256 of its content in hexadecimal.
// The record's reference names the key and the size, and what is read has to
// agree with both. One that is gone, or was altered, is an error of that call,
// an *idempotent.ResultUnavailableError around a [*MissingError] or an
// [*AlteredError]. The work is not run again.
//
// Names that follow from the content tell whoever may list the bucket which
// results are equal, and let him confirm a guess. With a Sealer (see package
// seal) the content is encrypted first, and each object is unique.
//
// A reference is not bound to its record: whoever can write the table can have
// a caller given what another record refers to, also of another function with
// this bucket and prefix. Give operations that must not read each other's
// results prefixes of their own, and permissions on these alone; or a Sealer,
// which refuses what was sealed for another record.
//
// # Lifecycle
//
// Give the prefix a lifecycle rule that expires objects some days later than
// the longest Retention. Equal results share an object; each Put writes it
// anew, so that its age is that of the last. A finished record does not outlive
// its Retention. One in progress does, for as long as it is tried again, and
// with Config.MaxAttempts until a person decides; its finished steps refer to
// objects as old as they are. A step whose object is gone can be neither gone
// on from nor undone. So where steps are large, add to the rule the longest
// time from a first attempt to its last, or to that decision. Leave versioning
// off, or expire noncurrent versions too.
//
// An object is put before its record is written. A transaction that is then
// refused, or an attempt that ends in between, leaves one to which nothing
// refers, for the rule to remove.
//
// # Permissions
//
// Functions need s3:PutObject and s3:GetObject on the prefix. Without
// s3:ListBucket on the bucket, S3 answers 403 for an object that is missing,
// which is then reported as that and not as a [*MissingError].
//
// # Time
//
// A result is put after the handler has returned, in the time that the
// executor's Config.Reserve has kept for it: give it more than the default of
// 500 ms. Elsewhere than on Lambda it is the time that is left of the Lease,
// which is no longer extended then: two thirds at least when the handler
// returns. Two thirds of that are for the put, and half of these for the first
// try: give the Lease six times what a put may take.
//
// A put holds the result, its sealed form and what is sent in memory at once. A
// function that runs out of memory there has done its work and recorded
// nothing, and the next attempt repeats it: see to it that its memory is some
// times Options.MaxBytes.
package s3payload
