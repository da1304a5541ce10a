SELECT false, "id", "status", "owner", "attempt", "refunds", "lease", "expires", "fingerprint", "payload", "unavailable", "data", "steps" FROM "idempotency" WHERE "id" = @id::text
