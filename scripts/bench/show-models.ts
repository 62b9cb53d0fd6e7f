/**
 * A repository of two models, as its users see it: each answers over server-sent events, a gRPC stream
 * and Ollama's client; one is unloaded and asked again, which loads it. Prints the times.
 *
 *   npm run build && npx tsx scripts/bench/show-models.ts [--repository models] [--json]
 */
import { parseArgs } from 'node:util';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { machineShape } from './lib/machine.ts';
import { startServer } from './lib/server-process.ts';
import { grpcClient } from './lib/stream-clients.ts';
import { printTable } from './lib/table.ts';

const { values } = parseArgs({
  options: {
    repository: { type: 'string', default: 'models' },
    models: { type: 'string', default: 'summit,foothill' },
    json: { type: 'boolean', default: false },
  },
});
const TOKENS = 32;

interface Step {
  readonly model: string;
  readonly what: string;
  /** Until the first piece of text, and until the last. */
  readonly firstMs: number;
  readonly ms: number;
  readonly text: string;
}

const steps: Step[] = [];

/** @param pieces of an answer, as they come */
async function tell(model: string, what: string, pieces: () => AsyncIterable<string>) {
  const start = performance.now();
  let firstMs = NaN;
  let text = '';
  for await (const piece of pieces()) {
    if (text === '' && piece !== '') firstMs = performance.now() - start;
    text += piece;
  }
  steps.push({ model, what, firstMs, ms: performance.now() - start, text });
}

const server = await startServer(['--model-repository', values.repository, '--grpc-port', '0']);
const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
const ollama = new Ollama({ host: server.url });
const grpc = grpcClient(server.grpcAddress ?? '');
const messages = [{ role: 'user' as const, content: 'What is 23 + 45?' }];

async function* overEvents(model: string): AsyncGenerator<string> {
  const settings = { max_tokens: TOKENS, temperature: 0 };
  const chunks = await openai.chat.completions.create({
    model,
    messages,
    stream: true,
    ...settings,
  });
  for await (const { choices } of chunks) yield choices[0]?.delta.content ?? '';
}

async function* overOllama(model: string): AsyncGenerator<string> {
  const options = { num_predict: TOKENS, temperature: 0 };
  for await (const { message } of await ollama.chat({ model, messages, stream: true, options })) {
    yield message.content;
  }
}

try {
  for (const model of values.models.split(',')) {
    await tell(model, 'SSE, loads it', () => overEvents(model));
    await tell(model, 'SSE', () => overEvents(model));
    const start = performance.now();
    const times = await grpc.time(model, 'Once upon a time', TOKENS);
    const [first = NaN] = times;
    const pieces = `${times.length} pieces`;
    const ms = (times.at(-1) ?? NaN) - start;
    steps.push({ model, what: 'gRPC stream', firstMs: first - start, ms, text: pieces });
    await tell(model, "Ollama's client", () => overOllama(model));
  }
  const [model = ''] = values.models.split(',');
  const start = performance.now();
  await post(`${server.url}/models/unload`, { model });
  const ms = performance.now() - start;
  steps.push({ model, what: 'unload', firstMs: NaN, ms, text: '' });
  await tell(model, 'SSE, loads it again', () => overEvents(model));
} finally {
  grpc.close();
  await server.close();
}

async function post(url: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  await response.arrayBuffer();
}

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), steps }));
} else {
  console.log(`${machineShape()}; ${values.repository}, ${TOKENS} tokens at most\n`);
  printTable(
    ['model', 'what', 'first text, ms', 'whole, ms', 'text'],
    steps.map(({ model, what, firstMs, ms, text }) => [
      model,
      what,
      Number.isNaN(firstMs) ? '' : firstMs.toFixed(0),
      ms.toFixed(0),
      text,
    ]),
  );
}
