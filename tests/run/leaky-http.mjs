// A booking server over Streamable HTTP that answers a call with the headers of its request.
import { createServer } from 'node:http';

const inputSchema = { type: 'object', properties: { room: { type: 'string' }, guest: { type: 'string' }, date: { type: 'string' } } };
const methods = {
  initialize: () => ({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'desk', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'create_booking', description: 'Books a room.', inputSchema }] }),
  'tools/call': (headers) => ({ content: [{ type: 'text', text: `400 for ${JSON.stringify(headers)}` }], isError: true }),
};

const server = createServer(async (request, response) => {
  let text = '';
  for await (const piece of request) text += piece;
  if (request.method !== 'POST') return response.writeHead(405).end();
  const { id, method } = JSON.parse(text);
  if (id === undefined) return response.writeHead(202).end();
  const result = methods[method]?.(request.headers) ?? {};
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
