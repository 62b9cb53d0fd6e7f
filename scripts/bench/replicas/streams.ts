/** Streams through HAProxy while one replica is killed, one drained and one added. */
import { resumableStream } from '../../../src/client/resumable-stream.ts';
import { type StreamedCompletion, stream } from '../../../test/support/http-client.ts';
import { until } from '../../../test/support/processes.ts';
import { type ReplicaOptions, Replicas } from '../../../test/support/replicas.ts';

/** How a client reads a stream to its end. */
export type StreamReader = (
  url: string,
  body: object,
  onText: (text: string) => void,
) => Promise<StreamedCompletion>;

export const plainReader: StreamReader = (url, body, onText) => stream(url, body, onText);

/** One that asks for the rest when its stream breaks off. */
export const resumingReader: StreamReader = (url, body, onText) =>
  stream(url, body, onText, resumableStream());

export interface StreamsOutcome {
  readonly streams: number;
  /** Whole, and the same text as without disturbance. */
  readonly identical: number;
  /** Refused, ended with an error, or with another text. */
  readonly failed: number;
  /** Broke off after their first token, with the replica that was killed. */
  readonly cut: number;
  /** Between two pieces of one stream. */
  readonly longestGapMs: number;
}

interface Result {
  readonly text: string | null;
  readonly hasBegun: boolean;
  readonly longestGapMs: number;
}

const CLIENTS = 12;
const TOKENS = 250;

const bodies = Array.from({ length: CLIENTS }, (_, index) => ({
  messages: [{ role: 'user', content: `Tell me a story about traveller number ${index}.` }],
  max_tokens: TOKENS,
  ignore_eos: true,
  ...(index % 2 === 0 ? { temperature: 0 } : { temperature: 0.9, seed: index }),
}));

/** Clients stream one after the other until all changes are made. */
export async function streamsUnderChanges(
  options: ReplicaOptions,
  read: StreamReader,
): Promise<StreamsOutcome> {
  const replicas = await Replicas.start(['one', 'two'], options);
  try {
    const url = `${replicas.url}/v1/chat/completions`;
    const alone = await Promise.all(bodies.map((body) => readOne(url, body, plainReader)));
    const results: (Result & { readonly index: number })[] = [];
    const over = new AbortController();
    const clients = bodies.map(async (body, index) => {
      while (!over.signal.aborted) results.push({ index, ...(await readOne(url, body, read)) });
    });
    const more = async () => {
      const enough = results.length + CLIENTS;
      await until(() => results.length >= enough, `${CLIENTS} more streams`, 120_000);
    };
    await more();
    await replicas.add('three');
    await more();
    await replicas.drain('two');
    await more();
    await until(() => replicas.streamsOf('one').then((count) => count > 1), 'a stream there');
    await replicas.kill('one');
    await more();
    over.abort();
    await Promise.all(clients);
    const identical = results.filter(
      ({ index, text }) => text !== null && text === alone[index]?.text,
    ).length;
    const cut = results.filter(({ text, hasBegun }) => text === null && hasBegun).length;
    return {
      streams: results.length,
      identical,
      failed: results.length - identical - cut,
      cut,
      longestGapMs: Math.max(...results.map(({ longestGapMs }) => longestGapMs)),
    };
  } finally {
    await replicas.stop();
  }
}

async function readOne(url: string, body: object, read: StreamReader): Promise<Result> {
  let before: number | undefined;
  let longestGapMs = 0;
  const onText = () => {
    const now = performance.now();
    longestGapMs = Math.max(longestGapMs, now - (before ?? now));
    before = now;
  };
  const result = await read(url, body, onText).catch(() => null);
  const isWhole = result !== null && result.done && result.finishReason === 'length';
  return { text: isWhole ? result.text : null, hasBegun: before !== undefined, longestGapMs };
}
