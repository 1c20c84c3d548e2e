// A server that runs already: MCP over Streamable HTTP in JSON, before the API at API_URL.
import { createServer } from 'node:http';

const tool = { name: 'create_release', description: 'Creates a release.', inputSchema: { type: 'object' } };
const methods = {
  initialize: () => ({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'releases', version: '1' } }),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': async ({ arguments: args }) => {
    const response = await fetch(`${process.env.API_URL}/v1/releases`, { method: 'POST', body: JSON.stringify(args) });
    return { content: [{ type: 'text', text: `status ${response.status}` }], isError: !response.ok };
  },
};

const server = createServer(async (request, response) => {
  let text = '';
  for await (const piece of request) text += piece;
  if (request.method !== 'POST') return response.writeHead(405).end();
  const { id, method, params } = JSON.parse(text);
  if (id === undefined) return response.writeHead(202).end();
  const result = await methods[method](params);
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
