package main

// Lambda reports the names of these types, and Step Functions match on them.

// CardDeclinedError means that the payment provider charges nothing.
type CardDeclinedError struct{}

func (*CardDeclinedError) Error() string { return "the card was declined" }

// OutOfStockError means that the inventory reserves nothing.
type OutOfStockError struct{}

func (*OutOfStockError) Error() string { return "it is out of stock" }

// OrderExistsError means that the order was placed before, with another charge.
type OrderExistsError struct{ OrderID string }

func (e *OrderExistsError) Error() string { return "the order " + e.OrderID + " is placed already" }
