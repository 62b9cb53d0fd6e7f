import { type Agent, request } from 'node:http';

const NEWLINE = 10;

/** Events after the last token: the one with the finish reason, and `[DONE]`. */
const CLOSING_EVENTS = 2;

const SILENCE_TIMEOUT_MS = 60_000;

/**
 * POSTs a streamed completion and notes when each event arrived: on the machine that it measures, so
 * it looks for the ends of events and parses nothing.
 * @returns arrival times of the events that carry text, in milliseconds of `performance.now()`
 */
export function timeEvents(url: URL, agent: Agent, body: object): Promise<number[]> {
  const payload = JSON.stringify(body);
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(payload),
  };
  return new Promise((resolve, reject) => {
    const post = request(url, { agent, method: 'POST', headers }, (response) => {
      const times: number[] = [];
      let endsInNewline = false;
      let last = '';
      response.on('data', (chunk: Buffer) => {
        const now = performance.now();
        if (endsInNewline && chunk[0] === NEWLINE) times.push(now);
        for (let at = chunk.indexOf('\n\n'); at !== -1; at = chunk.indexOf('\n\n', at + 2)) {
          times.push(now);
        }
        endsInNewline = chunk.at(-1) === NEWLINE && chunk.at(-2) !== NEWLINE;
        last = chunk.toString('latin1', Math.max(0, chunk.length - 200));
      });
      response.on('error', reject);
      response.on('end', () => {
        const isWhole = last.includes('[DONE]') && !last.includes('"error":');
        if (isWhole) resolve(times.slice(0, -CLOSING_EVENTS));
        else reject(new Error(`the stream (${response.statusCode}) broke off: ${last}`));
      });
    });
    post.on('error', reject);
    post.setTimeout(SILENCE_TIMEOUT_MS, () => post.destroy(new Error('the stream fell silent')));
    post.end(payload);
  });
}
