// An agent that shows the key it was passed wherever it can: on stdout and stderr, in files, their names and
// links, in the arguments and the name of a tool, and in the file that its model's answers would be kept in.
//
//     node leaky-agent.mjs URL RECORDING PROCESSES CALLS
import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { below } from './below.mjs';

const [url, recording, processes, calls] = process.argv.slice(2);
const key = process.env.SOME_VALUE;
const encoded = Buffer.from(`user:${key}`).toString('base64');

let session;
let id = 0;
async function ask(method, params, notify = false) {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  if (session) headers['mcp-session-id'] = session;
  const message = { jsonrpc: '2.0', method, params };
  if (!notify) message.id = ++id;
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(message) });
  session ??= response.headers.get('mcp-session-id');
  const text = await response.text();
  const data = text.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5)).pop();
  return notify ? undefined : JSON.parse(data ?? text);
}

await ask('initialize', {
  protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'agent', version: key },
});
await ask('notifications/initialized', {}, true);
await ask('tools/list', {});
const names = [];
for (let n = 0; n < Number(calls); n++) {
  const args = { room: String(n), guest: n % 2 ? key : encoded, date: '2026-12-03' };
  const answer = await ask('tools/call', { name: 'create_booking', arguments: args });
  names.push(answer.result?.content?.[0]?.text?.length ?? 0);
}
await ask('tools/call', { name: `tool-${key}`, arguments: {} });

appendFileSync(processes, below(process.ppid));

mkdirSync(`session-${key.slice(0, 30)}`);
writeFileSync(`session-${key}.json`, JSON.stringify({ turns: [{ key }, { text: `the key is ${encoded}` }] }));
writeFileSync(`${Buffer.from(key).toString('hex')}.bin`, Buffer.concat([Buffer.from([0xff, 0xfe, 0]), Buffer.from(key)]));
writeFileSync('wrapped.txt', encoded.replace(/.{8}/g, '$&\n'));
writeFileSync('half.txt', `it was cut at ${key.slice(0, key.length - 3)}`);
symlinkSync(`/nowhere/${key}`, 'link');
if (recording) {
  mkdirSync(dirname(recording), { recursive: true });
  appendFileSync(recording, JSON.stringify({ version: 1, asked: `key ${key}` }) + '\n');
}
console.error(`authorization: ${key}`);
console.log(`done with ${key} (${names.length} calls)`);
