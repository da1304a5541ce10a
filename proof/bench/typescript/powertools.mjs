// Powertools for AWS Lambda (TypeScript), with a hash of the payload.
import { IdempotencyAlreadyInProgressError, IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';

export const InProgress = IdempotencyAlreadyInProgressError;

export function protect(client, job, handler) {
  const config = new IdempotencyConfig({
    eventKeyJmesPath: 'id',
    payloadValidationJmesPath: '[customer, amount, currency]',
    expiresAfterSeconds: 24 * 3600,
    useLocalCache: job.Kind === 'cached',
  });
  config.registerLambdaContext({ getRemainingTimeInMillis: () => 60_000 });
  const persistenceStore = new DynamoDBPersistenceLayer({ tableName: job.Table, awsSdkV3Client: client });
  return makeIdempotent(handler, { config, persistenceStore });
}
