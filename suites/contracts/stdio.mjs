// MCP over stdin and stdout, as much of it as a server with tools needs; no packages.
import { createInterface } from 'node:readline';

/** Serves `tools` (name → {description, inputSchema, annotations, run}) until stdin ends. */
export function serve(name, tools) {
  const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
  const methods = {
    initialize: ({ protocolVersion }) => ({
      protocolVersion: protocolVersion ?? '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name, version: '1.0.0' },
    }),
    ping: () => ({}),
    'tools/list': () => ({
      tools: Object.entries(tools).map(([name, { run, ...tool }]) => ({ name, ...tool })),
    }),
    'tools/call': ({ name, arguments: args }) => tools[name].run(args ?? {}),
  };
  const lines = createInterface({ input: process.stdin });
  lines.on('line', async (line) => {
    if (line.trim() === '') return;
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    try {
      say({ id, result: await methods[method](params ?? {}) });
    } catch (error) {
      say({ id, error: { code: -32603, message: error.message } });
    }
  });
  lines.on('close', () => process.exit(0));
}
