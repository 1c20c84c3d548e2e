// The official TypeScript SDK as a client: `client.mjs SPEC`; as client.py.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
const require = createRequire(new URL('../npm/package.json', import.meta.url));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)));
const { Client } = await load('client/index.js');
const { StdioClientTransport } = await load('client/stdio.js');
const { ElicitRequestSchema } = await load('types.js');
const { StreamableHTTPClientTransport } = await load('client/streamableHttp.js');

const spec = JSON.parse(process.argv[2]);
const saw = (what) => console.log(JSON.stringify(what));

const transport = spec.url
  ? new StreamableHTTPClientTransport(new URL(spec.url))
  : new StdioClientTransport({ command: spec.command[0], args: spec.command.slice(1), stderr: 'ignore' });
const forms = spec.elicits ? { capabilities: { elicitation: {} } } : {};
const client = new Client({ name: 'shop-client', version: '1.0.0' }, forms);
if (spec.elicits) {
  client.setRequestHandler(ElicitRequestSchema, async (request) => {
    saw({ elicited: request.params.message, schema: request.params.requestedSchema });
    return { action: spec.elicits, ...(spec.elicits === 'accept' && { content: { reason: 'it is urgent' } }) };
  });
}
client.onerror = (error) => saw({ unasked: String(error.message ?? error) });
await client.connect(transport);
saw({ listed: [client.getServerVersion(), client.getInstructions() ?? null, await client.listTools()] });
for (const call of spec.calls) {
  try {
    const result = await client.callTool(
      { name: call.tool, arguments: call.arguments ?? {} }, undefined,
      { timeout: (call.timeout ?? 20) * 1000 });
    const text = result.content.filter((block) => block.type === 'text').map((block) => block.text).join('\n');
    saw({ text, is_error: result.isError === true, structured: result.structuredContent ?? null });
  } catch (error) {
    saw({ error: `${error.constructor.name}: ${error.message}` });
  }
}
if (spec.linger) await new Promise((resolve) => setTimeout(resolve, spec.linger * 1000));
// It would kill the proxy after 4 seconds, which on a busy machine has no end of its trace by then.
const proxy = transport._process;
if (proxy && proxy.exitCode === null) {
  const ended = new Promise((resolve) => proxy.once('close', resolve));
  proxy.stdin.end();
  await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 180_000).unref())]);
}
try { await client.close(); } catch (error) { saw({ closing: String(error) }); }
process.exit(0);
