// The process of a series in TypeScript. It answers jobs, a line of JSON-RPC each, with
// what its calls have taken.
import { createInterface } from 'node:readline';
import { Agent } from 'node:http';
import { DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';

// protect makes a handler idempotent: by hand, or with Powertools.
const { protect, InProgress } = await import(`./${process.env.ONCE_BENCH_SERIES}.mjs`);
const agent = new Agent({ keepAlive: true, maxSockets: 128 });
let requests = 0;
const clients = new Map();

// client returns the client of an endpoint, which counts its requests.
function client(endpoint) {
  if (!clients.has(endpoint)) {
    const c = new DynamoDBClient({
      endpoint,
      region: 'us-east-1',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
      requestHandler: { httpAgent: agent },
    });
    c.middlewareStack.add((next) => (args) => { requests++; return next(args); }, { step: 'deserialize', name: 'count' });
    clients.set(endpoint, c);
  }
  return clients.get(endpoint);
}

// gate stops handlers until it is opened.
function gate() {
  const g = {};
  g.opened = new Promise((open) => { g.open = open; });
  return g;
}

async function measure(job) {
  let runs = 0;
  let started = null;
  let held = null;
  const result = { charge: 'ch_8e03978e4b5f' };
  const call = protect(client(job.Endpoint), job, async () => {
    runs++;
    if (held) {
      started.shift()();
      await held.opened;
    }
    return result;
  });

  const once = async (i) => {
    const got = await call({ id: `${job.Keys}-${i}`, customer: 'cus_4711', amount: 129900, currency: 'EUR' });
    if (got.charge !== result.charge) throw new Error(`the charge is ${got.charge}`);
  };
  const each = (n, make) => Array.from({ length: n }, (_, i) => make(i));
  let one = once;
  let holders = [];
  if (job.Kind === 'conflict') {
    held = gate();
    const all = each(job.Distinct, () => new Promise((resolve) => { (started ??= []).push(resolve); }));
    holders = each(job.Distinct, once);
    await Promise.race([Promise.all(all), Promise.all(holders)]); // the latter only fails
    one = async (i) => {
      try {
        await once(i % job.Distinct);
      } catch (err) {
        if (err instanceof InProgress) return;
        throw err;
      }
      throw new Error('a conflict ends without an error');
    };
  } else if (job.Kind !== 'first') {
    await Promise.all(each(job.Distinct, once));
    one = (i) => once(i % job.Distinct);
  }

  // DynamoDB Local closes connections that were idle since the last round.
  await Promise.all(each(job.Callers, () => client(job.Endpoint).send(new DescribeTableCommand({ TableName: job.Table }))));

  runs = 0;
  requests = 0;
  global.gc();
  let next = 0;
  const cpu = process.cpuUsage();
  const began = process.hrtime.bigint();
  await Promise.all(each(job.Callers, async () => {
    while (next < job.Calls) await one(next++);
  }));
  const wall = Number(process.hrtime.bigint() - began);
  const used = process.cpuUsage(cpu);
  const figures = { Wall: wall, CPU: (used.user + used.system) * 1000, Requests: requests };
  const ran = runs;
  held?.open();
  await Promise.all(holders);
  const want = job.Kind === 'first' ? job.Calls : 0;
  if (ran !== want) throw new Error(`the handler ran ${ran} times, want ${want}`);
  return figures;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, params: [job] } = JSON.parse(line);
  let answer;
  try {
    answer = { id, result: await measure(job), error: null };
  } catch (err) {
    answer = { id, result: null, error: String(err?.cause ?? err) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
