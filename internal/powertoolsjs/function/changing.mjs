// A handler that changes its event: afterwards, the event has another key.
import { makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { run } from './runtime.mjs';
import { options, work } from './work.mjs';

await run(makeIdempotent(async (event) => {
  const answer = await work(structuredClone(event));
  event.id += ', changed';
  return answer;
}, options));
