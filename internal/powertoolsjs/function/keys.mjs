// Computes keys with Powertools for AWS Lambda (TypeScript): for each line of JSON, the
// id and the validation of the record that makeIdempotent claims for an event.
import { createInterface } from 'node:readline';
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { BasePersistenceLayer } from '@aws-lambda-powertools/idempotency/persistence';

console.warn = () => {}; // it warns of each missing key

// Claims keeps the record that is claimed, and stores none.
class Claims extends BasePersistenceLayer {
  async _putRecord(record) { this.claimed = record; }
  async _updateRecord() {}
  async _deleteRecord() {}
  async _getRecord() { throw new Error('no record'); }
}

async function key({ event, prefix, path, validation, hash, strict }) {
  const records = new Claims();
  const config = new IdempotencyConfig({
    eventKeyJmesPath: path,
    payloadValidationJmesPath: validation || undefined,
    hashFunction: hash,
    throwOnNoIdempotencyKey: strict,
  });
  config.registerLambdaContext({ getRemainingTimeInMillis: () => 60_000 });
  const handler = makeIdempotent(async () => null, { config, persistenceStore: records, keyPrefix: prefix });
  await handler(JSON.parse(event));
  if (!records.claimed) return { missing: true };
  return { record: records.claimed.idempotencyKey, validation: records.claimed.payloadHash };
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const request = JSON.parse(line);
    answer = request.lowercase ? { lowercase: request.lowercase.toLowerCase() } : await key(request);
  } catch (error) {
    const cause = error.cause ?? error;
    answer = cause.name === 'IdempotencyKeyError' ? { missing: true } : { error: String(cause) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
