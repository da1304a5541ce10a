// Refunds charges with the npm client of MCP: node client.mjs URL CHARGE...
// It repeats a call until it has an answer, each time with a new request, and after a
// connection that was cut, with a new client. It prints a line of JSON for each charge.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [url, ...charges] = process.argv.slice(2);

async function connect() {
	for (;;) {
		const client = new Client({ name: 'refunds', version: '1' });
		try {
			await client.connect(new StreamableHTTPClientTransport(new URL(url)));
			return client;
		} catch (error) {
			if (error instanceof SyntaxError) throw error;
		}
	}
}

async function refund(charge) {
	let client = await connect();
	for (let attempt = 1; ; attempt++) {
		try {
			const answer = await client.callTool({ name: 'refund', arguments: { charge, amount: 100, reason: `attempt ${attempt}` } });
			if (answer._meta?.['once/retryAfterSeconds']) continue;
			await client.close();
			return answer;
		} catch {
			await client.close().catch(() => {});
			client = await connect();
		}
	}
}

// Four at a time.
const queue = [...charges];
await Promise.all([1, 2, 3, 4].map(async () => {
	for (let charge; (charge = queue.shift()); ) {
		const answer = await refund(charge);
		console.log(JSON.stringify({ charge, isError: answer.isError ?? false, result: answer.structuredContent ?? null }));
	}
}));
