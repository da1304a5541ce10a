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
// # Lifecycle
//
// Give the prefix a lifecycle rule that expires objects some days later than
// the longest Retention. Equal results share an object; each Put writes it
// anew, so that its age is that of the last. There is no way to keep an object
// by reading it, and none is needed: a record does not outlive its Retention
// either. Leave versioning off, or expire noncurrent versions too.
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
// 500 ms.
package s3payload
