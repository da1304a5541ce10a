package main

// Lambda reports the names of these types, and Step Functions match on them.

// A CardDeclinedError reports that the payment provider declined the card.
type CardDeclinedError struct{}

func (*CardDeclinedError) Error() string { return "the card was declined" }

// An OutOfStockError reports that the inventory cannot reserve the item.
type OutOfStockError struct{}

func (*OutOfStockError) Error() string { return "it is out of stock" }

// An OrderExistsError reports that the order was already placed, with a different
// charge.
type OrderExistsError struct{ OrderID string }

func (e *OrderExistsError) Error() string { return "the order " + e.OrderID + " is placed already" }
