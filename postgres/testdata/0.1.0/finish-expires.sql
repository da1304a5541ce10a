WITH "idempotency_written" AS (
UPDATE "idempotency" AS stored
SET "expires" = @expires::timestamptz, "status" = @status::text, "data" = @data::bytea, "payload" = @payload::text, "unavailable" = @unavailable::text, "steps" = NULL, "lease" = NULL
WHERE stored."id" = @id::text AND stored."status" = 'INPROGRESS' AND stored."owner" = @fence_owner::text
RETURNING stored."id", stored."status", stored."owner", stored."attempt", stored."refunds", stored."lease", stored."expires", stored."fingerprint", stored."payload", stored."unavailable", NULL::bytea AS "data", NULL::bytea AS "steps")
SELECT true, "id", "status", "owner", "attempt", "refunds", "lease", "expires", "fingerprint", "payload", "unavailable", "data", "steps" FROM "idempotency_written"
UNION ALL SELECT false, "id", "status", "owner", "attempt", "refunds", "lease", "expires", "fingerprint", "payload", "unavailable", "data", "steps" FROM "idempotency" WHERE "id" = @id::text AND NOT EXISTS (SELECT FROM "idempotency_written")
