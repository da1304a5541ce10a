WITH "idempotency_written" AS (
UPDATE "idempotency" AS stored
SET "owner" = @owner::text, "attempt" = greatest(stored."attempt", 1) + 1, "steps" = coalesce(stored."steps", ''::bytea), "lease" = @lease::timestamptz, "expires" = @expires::timestamptz, "fingerprint" = coalesce(nullif(stored."fingerprint", ''), @fingerprint::text)
WHERE stored."id" = @id::text AND stored."status" = 'INPROGRESS' AND stored."owner" = @fence_owner::text AND stored."attempt" = @fence_attempt::bigint AND date_trunc('milliseconds', stored."lease") IS NOT DISTINCT FROM @fence_lease::timestamptz
RETURNING stored."id", stored."status", stored."owner", stored."attempt", stored."refunds", stored."lease", stored."expires", stored."fingerprint", stored."payload", stored."unavailable", stored."data", stored."steps")
SELECT true, "id", "status", "owner", "attempt", "refunds", "lease", "expires", "fingerprint", "payload", "unavailable", "data", "steps" FROM "idempotency_written"
UNION ALL SELECT false, "id", "status", "owner", "attempt", "refunds", "lease", "expires", "fingerprint", "payload", "unavailable", "data", "steps" FROM "idempotency" WHERE "id" = @id::text AND NOT EXISTS (SELECT FROM "idempotency_written")
