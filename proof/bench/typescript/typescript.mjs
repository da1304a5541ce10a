// Idempotency by hand with the AWS SDK, as hand_test.go has it in Go: a conditional PutItem,
// and an UpdateItem that the owner fences.
import { randomUUID } from 'node:crypto';
import { ConditionalCheckFailedException, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';

export class InProgress extends Error {}

const now = () => Math.floor(Date.now() / 1000);
const tomorrow = () => ({ N: String(now() + 24 * 3600) });

export function protect(client, { Table: TableName }, handler) {
  return async (payment) => {
    const id = { S: `payment#${payment.id}` };
    const owner = { S: randomUUID() };
    try {
      await client.send(new PutItemCommand({
        ConditionExpression: 'attribute_not_exists(#id) OR #exp < :now',
        ExpressionAttributeNames: { '#exp': 'expiration', '#id': 'id' },
        ExpressionAttributeValues: { ':now': { N: String(now()) } },
        Item: { id, status: { S: 'INPROGRESS' }, owner, expiration: tomorrow() },
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        TableName,
      }));
    } catch (err) {
      if (!(err instanceof ConditionalCheckFailedException)) throw err;
      if (err.Item.status.S === 'INPROGRESS') throw new InProgress();
      return JSON.parse(err.Item.data.S);
    }
    const result = await handler(payment);
    await client.send(new UpdateItemCommand({
      ConditionExpression: '#owner = :me AND #status = :inprogress',
      ExpressionAttributeNames: { '#data': 'data', '#exp': 'expiration', '#owner': 'owner', '#status': 'status' },
      ExpressionAttributeValues: {
        ':me': owner, ':inprogress': { S: 'INPROGRESS' }, ':completed': { S: 'COMPLETED' },
        ':data': { S: JSON.stringify(result) }, ':exp': tomorrow(),
      },
      Key: { id },
      TableName,
      UpdateExpression: 'SET #status = :completed, #data = :data, #exp = :exp',
    }));
    return result;
  };
}
