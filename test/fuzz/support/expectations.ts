/** Conditions that hold whatever was sent. */
import { expect } from 'vitest';
import { z } from 'zod';
import { fieldsOf } from './short-answers.ts';

/** Longer than any of the short answers that are asked for takes. */
const HANG_MS = 20_000;

/** Message to a request that asked for too short a deadline. */
const TIMED_OUT = 'The request took longer than its timeout.';

const openAiError = z.strictObject({
  error: z.strictObject({
    message: z.string().min(1),
    type: z.string().min(1),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});

const ollamaError = z.strictObject({ error: z.string().min(1), code: z.string().optional() });

const anthropicError = z.strictObject({
  type: z.literal('error'),
  error: z.strictObject({
    type: z.string().min(1),
    message: z.string().min(1),
    code: z.literal('context_length_exceeded').optional(),
  }),
  request_id: z.string(),
});

/** Sends `body`, and checks that what comes is an answer, or an error in its envelope. */
export async function expectCalm(
  url: string,
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
): Promise<number> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    signal: AbortSignal.timeout(HANG_MS),
  });
  const text = await response.text();
  const isFault = response.status >= 500 && !(response.status === 504 && mayTimeOut(body));
  if (isFault) throw new Error(`${response.status}: ${text.slice(0, 500)}`);
  if (response.status >= 400) {
    envelopeOf(path).parse(JSON.parse(text));
    expect(text.length).toBeLessThan(32_000);
  } else if (/event-stream|ndjson/.test(response.headers.get('content-type') ?? '')) {
    // A failure after the headers have gone.
    const isLate = mayTimeOut(body) && text.includes(TIMED_OUT);
    if (!isLate) expect(text).not.toMatch(/"(server_error|api_error|internal_error)"|^\{"error":/m);
  }
  return response.status;
}

function envelopeOf(path: string): z.ZodType {
  if (path.startsWith('/v1/messages')) return anthropicError;
  return path.startsWith('/api/') ? ollamaError : openAiError;
}

/** Whether it asks for a deadline that may pass. */
function mayTimeOut(body: string | Uint8Array): boolean {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
  const timeout = fieldsOf(text)?.['timeout'];
  return typeof timeout === 'number' && timeout > 0 && timeout * 1000 < HANG_MS;
}
