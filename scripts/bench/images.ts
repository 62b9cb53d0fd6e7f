/**
 * Times of an image in a chat, and of text streams beside it: its first token when nothing is known of it, when
 * its embeddings are known and when its prompt is; and the time between tokens of streams, alone and while new
 * images are asked about one after the other. Variants of a server take turns.
 *
 *   npx tsx scripts/bench/images.ts --model <folder of a model that sees> [--streams 8] [--turns 3] [--json]
 */
import { Agent } from 'node:http';
import { parseArgs } from 'node:util';
import sharp from 'sharp';
import { timeEvents } from './lib/event-stream.ts';
import { machineShape } from './lib/machine.ts';
import { type ServerProcess, startServer } from './lib/server-process.ts';
import { streamChat } from './lib/streamed-chat.ts';
import { median, printTable } from './lib/table.ts';

const WIDTH = 1024;
const HEIGHT = 768;
const CHANNELS = 3;
const STREAM_TOKENS = 150;
const PRECISIONS = ['fp32', 'int8'] as const;

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    streams: { type: 'string', default: '8' },
    turns: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
});
const numStreams = Number(values.streams);
const turns = Number(values.turns);
const agent = new Agent({ keepAlive: true });
let numImages = 0;

/** Noise that no image had before, as a data URL. */
async function newImage(): Promise<string> {
  const pixels = new Uint8Array(WIDTH * HEIGHT * CHANNELS);
  let state = ++numImages;
  for (let place = 0; place < pixels.length; place++) {
    // xorshift32
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    pixels[place] = state;
  }
  const image = sharp(pixels, { raw: { width: WIDTH, height: HEIGHT, channels: CHANNELS } });
  return `data:image/png;base64,${(await image.png().toBuffer()).toString('base64')}`;
}

/** @param before text that stands before the image */
async function ask({ url }: ServerProcess, image: string, detail: string, before = '') {
  const content = [
    { type: 'text', text: before },
    { type: 'image_url', image_url: { url: image, detail } },
    { type: 'text', text: 'What is it?' },
  ];
  const messages = [{ role: 'user', content }];
  const options = { ignore_eos: true, stream_options: { include_usage: true } };
  return await streamChat(url, agent, { messages, max_tokens: 4, ...options });
}

/** Times to the first token, in milliseconds, and tokens of the prompt. */
async function firsts(server: ServerProcess, detail: string) {
  const image = await newImage();
  const unknown = await ask(server, image, detail);
  // The prefix cache finds nothing behind another text.
  const embedded = await ask(server, image, detail, 'Look.');
  const again = await ask(server, image, detail, 'Look.');
  const times = [unknown, embedded, again].map(({ ttftMs }) => ttftMs);
  return { times, tokens: unknown.numPromptTokens };
}

/** Times between tokens of streams, in milliseconds, sorted. */
async function gapsOf({ url }: ServerProcess): Promise<number[]> {
  const stream = async (_: unknown, seed: number): Promise<number[]> => {
    const times = await timeEvents(new URL('/v1/completions', url), agent, {
      prompt: `Stream ${seed} of ${numImages}`,
      max_tokens: STREAM_TOKENS,
      ignore_eos: true,
      seed,
      stream: true,
    });
    return times.slice(1).map((time, index) => time - (times[index] ?? NaN));
  };
  const all = await Promise.all(Array.from({ length: numStreams }, stream));
  return all.flat().toSorted((a, b) => a - b);
}

async function gapsBesideImages(server: ServerProcess): Promise<number[]> {
  const over = new AbortController();
  const asking = (async () => {
    while (!over.signal.aborted) await ask(server, await newImage(), 'low');
  })();
  const gaps = await gapsOf(server);
  over.abort();
  await asking;
  return gaps;
}

function at(gaps: readonly number[], share: number): number {
  return gaps[Math.min(gaps.length - 1, Math.floor(gaps.length * share))] ?? NaN;
}

if (values.model === undefined) throw new Error('--model names a folder of a model that sees');
const results: object[] = [];
const rows: string[][] = [];
for (const precision of PRECISIONS) {
  const flags = ['--model', values.model, '--vision-precision', precision];
  const server = await startServer(flags);
  try {
    await firsts(server, 'low');
    const low = [];
    const high = [];
    const alone: number[][] = [];
    const beside: number[][] = [];
    for (let turn = 0; turn < turns; turn++) {
      low.push(await firsts(server, 'low'));
      alone.push(await gapsOf(server));
      beside.push(await gapsBesideImages(server));
    }
    high.push(await firsts(server, 'high'));
    const quantile = (of: readonly number[][], share: number) =>
      median(of.map((gaps) => at(gaps, share)));
    for (const [detail, found] of Object.entries({ low, high })) {
      const times = [0, 1, 2].map((which) => median(found.map((each) => each.times[which] ?? NaN)));
      const tokens = found[0]?.tokens ?? NaN;
      results.push({ precision, detail, tokens, times });
      rows.push([precision, detail, String(tokens), ...times.map((ms) => ms.toFixed(0)), '', '']);
    }
    const p95 = [quantile(alone, 0.95), quantile(beside, 0.95)] as const;
    results.push({ precision, p95 });
    rows.push([precision, 'streams', '', '', '', '', ...p95.map((ms) => ms.toFixed(1))]);
  } finally {
    await server.close();
  }
}
if (values.json) {
  console.log(JSON.stringify(results, null, 2));
} else {
  console.log(`${machineShape()}; ${numStreams} streams, images of ${WIDTH} x ${HEIGHT}\n`);
  printTable(
    [
      'tower',
      'detail',
      'tokens',
      'TTFT, ms',
      'embedded',
      'cached',
      'ITL p95 alone',
      'beside images',
    ],
    rows,
  );
}
