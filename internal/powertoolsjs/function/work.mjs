// The work of examples/shared, and what Powertools for AWS Lambda (TypeScript) is set to:
// the same variables, the same effect, the same answer.
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { IdempotencyConfig } from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';

const env = process.env;
const client = new DynamoDBClient({});

// Records tells the work the id of its record, which Powertools keeps to itself.
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

export const options = { config, persistenceStore: records, keyPrefix: env.POWERTOOLS_PREFIX };

export async function work(event) {
  await client.send(new PutItemCommand({
    TableName: env.SHARED_TABLE,
    Item: { id: { S: randomUUID() }, record: { S: records.claimed } },
  }));
  await setTimeout(Number.parseInt(env.SHARED_DELAY ?? '0ms', 10)); // only ms here
  return { record: records.claimed, event };
}
