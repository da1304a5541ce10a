-- The tables of the transfers. The first two statements are those of postgres.SQL, and River
-- has migrations of its own.
CREATE TABLE IF NOT EXISTS "idempotency" (
    "id" text COLLATE "C" PRIMARY KEY,
    "status" text NOT NULL,
    "owner" text NOT NULL DEFAULT '',
    "attempt" bigint NOT NULL DEFAULT 0,
    "refunds" bigint NOT NULL DEFAULT 0,
    "lease" timestamptz,
    "expires" timestamptz,
    "fingerprint" text NOT NULL DEFAULT '',
    "payload" text NOT NULL DEFAULT '',
    "unavailable" text NOT NULL DEFAULT '',
    "data" bytea,
    "steps" bytea,
    "began" timestamptz,
    "request" bytea,
    "ended" text
);
CREATE INDEX IF NOT EXISTS "idempotency_expires" ON "idempotency" ("expires");
CREATE TABLE accounts (
    id text PRIMARY KEY,
    balance bigint NOT NULL CHECK (balance >= 0)
);
