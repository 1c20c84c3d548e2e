// A careful MCP server before an HTTP API: what it says is what it can know.
import { randomUUID } from 'node:crypto';
import { serve } from './stdio.mjs';

const { API_URL, API_TOKEN, API_TIMEOUT_MS = '700' } = process.env;

/** What went wrong, in the few words that a caller can act on. The rest goes to stderr. */
class Trouble extends Error {
  constructor(category, retry, message) {
    super(message);
    Object.assign(this, { category, retry });
  }
}
const unknown = (message) => new Trouble('outcome_unknown', 'reconcile_first', message);
const malformed = (message) => new Trouble('malformed_response', 'reconcile_first', message);

async function ask(method, path, id, body) {
  let response;
  let text;
  try {
    response = await fetch(API_URL + path, {
      method,
      headers: { authorization: `Bearer ${API_TOKEN}`, 'content-type': 'application/json', 'x-request-id': id },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(Number(API_TIMEOUT_MS)),
    });
    text = await response.text();
  } catch (error) {
    const code = error.cause?.code ?? error.name;
    console.error(`${id} ${method} ${path}: ${code}`);
    if (code === 'ECONNREFUSED') {
      throw new Trouble('local_failure', 'safe', 'The service was not reached; nothing was sent.');
    }
    if (method === 'GET') throw new Trouble('failed', 'safe', 'The service did not answer; nothing was changed.');
    throw unknown('The service gave no complete answer; whether the request was carried out is unknown.');
  }
  console.error(`${id} ${method} ${path}: ${response.status}`);
  if (response.status === 401) {
    throw new Trouble('authentication_failed', 'never', 'The credential was not accepted. A person must renew it.');
  }
  if (response.status === 403) {
    throw new Trouble('authorization_denied', 'never', 'The credential does not permit this.');
  }
  if (response.status === 429) {
    throw new Trouble('rate_limited', 'after', `Too many requests; wait ${response.headers.get('retry-after') ?? 60} s.`);
  }
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed('The answer of the service cannot be read; whether the request was carried out is unknown.');
  }
  if (response.status >= 500) throw unknown('The service had an error; whether the request was carried out is unknown.');
  if (response.status >= 400) throw new Trouble('rejected', 'never', 'The service refused the request.');
  return value;
}

function release(value) {
  if (typeof value?.id !== 'string' || value.id === '') {
    throw malformed('The answer has no usable id; look the release up by its name before anything else.');
  }
  if (typeof value.name !== 'string' || typeof value.status !== 'string') {
    throw malformed('The answer lacks a promised field; look the release up by its name before anything else.');
  }
  const { id, name, status } = value;
  return { id, name, status };
}

const tool = (operation, work) => async (args) => {
  const correlation_id = randomUUID();
  let result;
  try {
    result = { ok: true, ...(await work(args, correlation_id)) };
  } catch (error) {
    const { category = 'failed', retry = 'never', message } = error;
    result = { ok: false, category, operation, retry, correlation_id, message };
  }
  return {
    content: [{ type: 'text', text: JSON.stringify(result) }],
    structuredContent: result,
    isError: !result.ok,
  };
};

const named = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };

serve('releases', {
  create_release: {
    description: 'Creates a release.',
    inputSchema: named,
    annotations: { readOnlyHint: false },
    run: tool('create_release', async ({ name }, id) => release(await ask('POST', '/v1/releases', id, { name }))),
  },
  find_release: {
    description: 'Finds the release of a name.',
    inputSchema: named,
    annotations: { readOnlyHint: true },
    run: tool('find_release', async ({ name }, id) => {
      const list = await ask('GET', `/v1/releases?name=${encodeURIComponent(name)}`, id);
      if (!Array.isArray(list?.items)) throw malformed('The answer is no list of releases.');
      // Never the first one: the order of a list promises nothing.
      const found = list.items.map(release).filter((one) => one.name === name);
      if (found.length > 1) throw malformed('More than one release has this name; a person must choose.');
      return found.length === 1 ? { found: true, ...found[0] } : { found: false };
    }),
  },
});
