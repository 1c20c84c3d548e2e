#!/usr/bin/env node
// One turn of an agent on the Vercel AI SDK. Copy it and put your own agent into `answer`.
//
//     agent.js --mcp FILE --model NAME [--system TEXT] --history FILE -- TEXT
//
// The MCP servers stand in a JSON file in the form that most programs share (`{"mcpServers": …}`).
// It takes one turn, keeps the conversation in the history file, where a later turn finds it, and
// prints one JSON object: reply and usage. OPENAI_BASE_URL and OPENAI_API_KEY say where the model
// is; a server on this machine needs no key.
//
// Exit code 1 and a line on stderr where it failed: `model endpoint: …` where the model did not
// answer, anything else is the agent's own failure.

import { createMCPClient } from '@ai-sdk/mcp';
import { StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, RetryError, generateText, isStepCount } from 'ai';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

// It prints its warnings to stdout otherwise.
globalThis.AI_SDK_LOG_WARNINGS = false;

/** The clients of the MCP servers in a configuration file. */
async function connect(file) {
  const clients = [];
  for (const server of Object.values(JSON.parse(readFileSync(file, 'utf8')).mcpServers)) {
    const { command, args, env, url, headers } = server;
    const transport = url ? { type: 'http', url, headers } : new StdioMCPTransport({ command, args, env });
    clients.push(await createMCPClient({ transport }));
  }
  return clients;
}

/** What the agent answers. This is the part to replace. */
async function answer(options, messages, tools) {
  const provider = createOpenAICompatible({
    name: 'endpoint',
    baseURL: process.env.OPENAI_BASE_URL || 'https://api.openai.com/v1',
    apiKey: process.env.OPENAI_API_KEY || 'none',
  });
  return generateText({
    model: provider(options.model),
    system: options.system || undefined,
    messages,
    tools,
    stopWhen: isStepCount(20),
  });
}

async function turn(options, say) {
  const earlier = existsSync(options.history) ? JSON.parse(readFileSync(options.history, 'utf8')) : [];
  const messages = [...earlier, { role: 'user', content: say }];
  const clients = await connect(options.mcp);
  try {
    const tools = Object.assign({}, ...(await Promise.all(clients.map((client) => client.tools()))));
    const result = await answer(options, messages, tools);
    const said = result.steps.flatMap((step) => step.response.messages);
    writeFileSync(options.history, JSON.stringify([...messages, ...said]));
    const { inputTokens, outputTokens } = result.totalUsage ?? result.usage;
    return { reply: result.text, usage: { input_tokens: inputTokens, output_tokens: outputTokens } };
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

const { values, positionals } = parseArgs({
  options: {
    mcp: { type: 'string' },
    model: { type: 'string' },
    system: { type: 'string', default: '' },
    history: { type: 'string' },
  },
  allowPositionals: true,
});
try {
  console.log(JSON.stringify(await turn(values, positionals.join(' '))));
} catch (error) {
  const ofModel = APICallError.isInstance(error) || RetryError.isInstance(error);
  const status = error.statusCode ?? error.lastError?.statusCode ?? '';
  console.error(ofModel ? `model endpoint: ${status} ${error.message}` : `${error.name}: ${error.message}`);
  process.exitCode = 1;
}
