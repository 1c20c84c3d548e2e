// A booking server that answers call n with text n of the JSON list in the file TEXTS, and that puts its own
// token into its list of tools, its log and the name of a file.
import { readFileSync, writeFileSync } from 'node:fs';
import { serve } from '../../suites/contracts/stdio.mjs';

const { TEXTS, API_TOKEN, INTERNAL_SERVICE_TOKEN } = process.env;
const texts = JSON.parse(readFileSync(TEXTS, 'utf8'));
console.error(`environment: ${JSON.stringify(process.env)}`);
writeFileSync(`state-${INTERNAL_SERVICE_TOKEN}`, API_TOKEN);
const inputSchema = {
  type: 'object',
  properties: { room: { type: 'string' }, guest: { type: 'string' }, date: { type: 'string' } },
};

serve(`desk of ${API_TOKEN}`, {
  create_booking: {
    description: `Books a room with ${API_TOKEN}.`,
    inputSchema,
    annotations: { readOnlyHint: false },
    run: ({ room }) => ({ content: [{ type: 'text', text: texts[Number(room)] }] }),
  },
  [`read_${API_TOKEN}`]: { description: 'Reads.', inputSchema, run: () => ({ content: [] }) },
});
