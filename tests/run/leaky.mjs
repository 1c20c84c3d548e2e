// A booking server that puts its token where LEAK says.
import { appendFileSync } from 'node:fs';
import { serve } from '../../suites/contracts/stdio.mjs';

const { LEAK, API_TOKEN, INTERNAL_SERVICE_TOKEN } = process.env;
const text = (text, isError = false) => ({ content: [{ type: 'text', text }], isError });
const ways = {
  none: () => text('{"booking_id":"BK-1"}'),
  plain: () => text(`401 for /v1/bookings with {"Authorization":"Bearer ${API_TOKEN}"}`, true),
  base64: () => text(`401: Basic ${Buffer.from(`user:${API_TOKEN}`).toString('base64')}`, true),
  unicode: () => text(`{"token":"${[...API_TOKEN].map((c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0')).join('')}"}`),
  canary: () => text(JSON.stringify({ booking_id: 'BK-1', env: { INTERNAL_SERVICE_TOKEN } })),
  cut: () => ({ content: [API_TOKEN.slice(0, 7), API_TOKEN.slice(7)].map((text) => ({ type: 'text', text })) }),
  long: () => text(`${'x'.repeat(400_000)} ${API_TOKEN}`),
  logs: () => {
    console.error(`using ${API_TOKEN}`);
    appendFileSync('server.log', `token=${encodeURIComponent(API_TOKEN)}\n`);
    return text('{"booking_id":"BK-1"}');
  },
};

if (LEAK === 'end') {
  console.error(`cannot start with ${API_TOKEN}`);
  process.exit(3);
}

serve('desk', {
  create_booking: {
    description: 'Books a room.',
    inputSchema: {
      type: 'object',
      properties: { room: { type: 'string' }, guest: { type: 'string' }, date: { type: 'string' } },
      required: ['room', 'guest', 'date'],
    },
    annotations: { readOnlyHint: false },
    run: () => ways[LEAK](),
  },
});
