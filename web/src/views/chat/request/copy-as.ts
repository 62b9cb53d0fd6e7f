/** A request as a program that makes it. Keys are never in it. */
import type { RequestBody } from './request-body.ts';
import { CHAT_PATH } from './stream-chat.ts';

export const COPY_FORMS = ['curl', 'openai', 'WebSocket'] as const;
export type CopyForm = (typeof COPY_FORMS)[number];

const KEY = 'CHAIRLIFT_API_KEY';

/** @param origin of the server, such as `http://127.0.0.1:8000` */
export function copyAs(form: CopyForm, body: RequestBody, origin: string): string {
  switch (form) {
    case 'curl':
      return toCurl(body, origin);
    case 'openai':
      return toOpenai(body, origin);
    case 'WebSocket':
      return toWebSocket(body, origin);
  }
}

function toCurl(body: RequestBody, origin: string): string {
  const json = JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`);
  return [
    `curl -N ${origin}${CHAT_PATH} \\`,
    `  -H "authorization: Bearer $${KEY}" \\`,
    "  -H 'content-type: application/json' \\",
    `  -d '${json}'\n`,
  ].join('\n');
}

function toOpenai(body: RequestBody, origin: string): string {
  return `import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: '${origin}/v1',
  apiKey: process.env.${KEY} ?? 'none',
});
const stream = await client.chat.completions.create(${JSON.stringify(body, null, 2)});
for await (const { choices } of stream) {
  process.stdout.write(choices[0]?.delta.content ?? '');
}
`;
}

function toWebSocket(body: RequestBody, origin: string): string {
  const url = `${origin.replace(/^http/, 'ws')}${CHAT_PATH}`;
  return `import WebSocket from 'ws';

const socket = new WebSocket('${url}', {
  headers: { authorization: \`Bearer \${process.env.${KEY}}\` },
});
socket.on('open', () => {
  socket.send(JSON.stringify(${JSON.stringify({ request_id: '1', ...body }, null, 2)}));
});
socket.on('message', (data) => {
  const frame = JSON.parse(data);
  if (frame.type === 'done' || frame.error) socket.close();
  process.stdout.write(frame.error?.message ?? frame.choices?.[0]?.delta.content ?? '');
});
`;
}
