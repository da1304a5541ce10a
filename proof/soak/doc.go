// Package soak lets several processes work for as long as one likes, on mixed traffic
// with duplicates, while they are killed and stopped and while the network to DynamoDB
// Local loses, delays, repeats and throttles requests. Then it audits every key:
//
//   - All callers of a key were told the same, and that is what its record contains.
//   - Work in a transaction had its effects once. Other work had them at least once,
//     and again only if a kill, or a call that reported it, explains the repetition.
//   - No call lost its lease before it could lapse.
//   - A kill repeated no more records of a batch than the settings of its worker allow.
//   - A record of a stream began after its predecessor was finished.
//   - A saga has all of its bookings, or has cancelled all of them.
//   - No record is in progress, and no finished one has steps or a lease.
//   - The processes that live to the end need no more goroutines and memory than
//     after a third of the time.
//
// The workers are real processes of the same program, package worker. All choices
// depend on a seed; the moments at which they take effect do not.
package soak
