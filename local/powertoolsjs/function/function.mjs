// The counterpart of examples/shared, with Powertools for AWS Lambda (TypeScript): the same
// variables, the same effect, the same answer.
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { run } from './runtime.mjs';

const env = process.env;
const client = new DynamoDBClient({});

// Records tells the function the id of its record, which Powertools keeps to itself.
class Records extends DynamoDBPersistenceLayer {
  async _putRecord(record) {
    await super._putRecord(record);
    this.claimed = record.idempotencyKey;
  }
}

const records = new Records({ tableName: env.IDEMPOTENCY_TABLE, awsSdkV3Client: client });
const config = new IdempotencyConfig({
  eventKeyJmesPath: env.POWERTOOLS_KEY,
  payloadValidationJmesPath: env.POWERTOOLS_VALIDATION,
});

const handler = makeIdempotent(async (event) => {
  await client.send(new PutItemCommand({
    TableName: env.SHARED_TABLE,
    Item: { id: { S: randomUUID() }, record: { S: records.claimed } },
  }));
  await setTimeout(Number.parseInt(env.SHARED_DELAY ?? '0ms', 10)); // only ms here
  return { record: records.claimed, event };
}, { config, persistenceStore: records, keyPrefix: env.POWERTOOLS_PREFIX });

await run(handler);
