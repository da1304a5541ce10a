// Package crashtest tests the effects of a handler that crashes. It kills the
// handler at every point where that makes a difference, delivers the event again as
// a trigger would, and lets the test check the effects.
//
// [RunHandler] does so in the process of a unit test, with a store in memory, in
// milliseconds. It kills and freezes the handler before and after every call to the
// store, and wherever the test says that an effect happens:
//
//	func TestParcelIsShippedOnceWhateverCrashes(t *testing.T) {
//		crashtest.RunHandler(t, func() crashtest.Trial {
//			labels := map[string]bool{} // the carrier's
//			ship := func(ctx context.Context, p parcel) (string, error) {
//				crashtest.Effect(ctx, "print label")
//				labels[idempotent.DownstreamKey(ctx, "label")] = true
//				return "shipped to " + p.To, nil
//			}
//			return crashtest.Trial{
//				Deliver: func(ctx context.Context, store driver.Store) error {
//					x, err := idempotent.New("ship-parcel", store, &idempotent.Config{Observer: idempotent.NoObserver{}})
//					if err != nil {
//						return err
//					}
//					_, err = idempotent.Wrap(x, parcelKey, ship)(ctx, parcel{ID: "p-1", To: "Ada"})
//					return err
//				},
//				Check: func() error {
//					if len(labels) != 1 {
//						return fmt.Errorf("%d labels", len(labels))
//					}
//					return nil
//				},
//			}
//		})
//	}
//
// With Trial.Crashes set to 2, it also crashes the retries, at each of their own points.
//
// [Run] does so with a compiled Lambda function and real servers, in seconds. It
// kills and freezes the process before and after every network call that the function
// makes, loses answers, and delivers the event to several processes at once, and with
// another payload. A test in process cannot cover all of these: transactions, clients of
// other services, and the function's main.
//
// Both print a table with a line for every point:
//
//	call           crash          retries  answer  invariant
//	all            never          0        ok      holds
//	 1 claim       killed before  1        ok      holds
//	…
//	 3 complete    killed before  6        ok      BROKEN: 2 labels
//
// [Play] and [PlayHandler] return the report instead, for tests that expect a
// broken invariant.
package crashtest
