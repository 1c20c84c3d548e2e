// Tools before an HTTP API, on the official TypeScript SDK: `releases.mjs careful|careless [PORT]`.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
const require = createRequire(new URL('../npm/package.json', import.meta.url));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { McpServer } = await load('@modelcontextprotocol/sdk/server/mcp.js');
const { StdioServerTransport } = await load('@modelcontextprotocol/sdk/server/stdio.js');
const { StreamableHTTPServerTransport } = await load('@modelcontextprotocol/sdk/server/streamableHttp.js');
const { z } = await load('zod');

const { API_URL, API_TOKEN, API_TIMEOUT_MS = '700' } = process.env;
const [manner, port] = process.argv.slice(2);

const request = (method, path, body) =>
  fetch(API_URL + path, {
    method,
    headers: { authorization: `Bearer ${API_TOKEN}`, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(Number(API_TIMEOUT_MS)),
  });

class Trouble extends Error {
  constructor(category, retry, message) {
    super(message);
    this.told = { category, retry, message };
  }
}
const malformed = () =>
  new Trouble('malformed_response', 'reconcile_first', 'The answer cannot be used; whether it was done is unknown.');
const unknown = () => new Trouble('outcome_unknown', 'reconcile_first', 'Whether the request was carried out is unknown.');

async function ask(method, path, body) {
  let response, text;
  try {
    response = await request(method, path, body);
    text = await response.text();
  } catch (error) {
    if (error.cause?.code === 'ECONNREFUSED') throw new Trouble('local_failure', 'safe', 'Nothing was sent.');
    throw unknown();
  }
  if (response.status === 401) throw new Trouble('authentication_failed', 'never', 'The credential was not accepted.');
  if (response.status === 403) throw new Trouble('authorization_denied', 'never', 'This is not permitted.');
  if (response.status === 429) throw new Trouble('rate_limited', 'after', 'Too many requests.');
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed();
  }
  if (!response.ok) throw unknown();
  return value;
}

function release(value) {
  const { id, name, status } = value ?? {};
  if ([id, name, status].some((field) => typeof field !== 'string' || field === '')) throw malformed();
  return { id, name, status };
}

const told = (operation, work) => async (args) => {
  let result;
  try {
    result = { ok: true, ...(await work(args)) };
  } catch (error) {
    result = { ok: false, operation, correlation_id: randomUUID(), ...error.told };
  }
  return { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: result, isError: !result.ok };
};

const careful = {
  create_release: told('create_release', async ({ name }) => release(await ask('POST', '/v1/releases', { name }))),
  find_release: told('find_release', async ({ name }) => {
    const list = await ask('GET', `/v1/releases?name=${encodeURIComponent(name)}`);
    if (!Array.isArray(list?.items)) throw malformed();
    const found = list.items.map(release).filter((one) => one.name === name);
    if (found.length > 1) throw malformed();
    return found.length === 1 ? { found: true, ...found[0] } : { found: false };
  }),
};

// What is thrown becomes a result with `isError` and the message, by the SDK.
const careless = {
  create_release: async ({ name }) => {
    const response = await request('POST', '/v1/releases', { name });
    if (!response.ok) throw new Error(`create failed: ${response.status} ${JSON.stringify([...response.headers])}`);
    const { id, status } = await response.json();
    return { content: [{ type: 'text', text: JSON.stringify({ id: id || name, name, status }) }] };
  },
  find_release: async ({ name }) => {
    const { items } = await (await request('GET', `/v1/releases?name=${encodeURIComponent(name)}`)).json();
    return { content: [{ type: 'text', text: JSON.stringify(items[0]) }] };
  },
};

function server() {
  const server = new McpServer({ name: 'releases', version: '1.0.0' });
  for (const [name, work] of Object.entries(manner === 'careful' ? careful : careless)) {
    server.registerTool(name, { description: `${name} by name`, inputSchema: { name: z.string() } }, work);
  }
  return server;
}

if (port) {
  createServer(async (asked, answer) => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    await server().connect(transport);
    await transport.handleRequest(asked, answer);
  }).listen(Number(port), '127.0.0.1');
} else {
  await server().connect(new StdioServerTransport());
}
