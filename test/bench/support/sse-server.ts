import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json as readJson } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface FakeServerOptions {
  readonly ownedBy?: string;
  readonly maxModelLen?: number;
  /** Decides an answer by the number of the request, from 0. */
  readonly answer?: (index: number) => 'whole' | 'refused' | 'broken' | 'error' | 'silent';
  readonly withUsage?: boolean;
}

export interface FakeServer {
  readonly url: string;
  readonly bodies: Record<string, unknown>[];
  readonly headers: IncomingMessage['headers'][];
  maxInFlight(): number;
}

const TOKEN_GAP_MS = 2;

/** An OpenAI-compatible server that streams `max_tokens` words; closed when the test is over. */
export async function fakeServer(options: FakeServerOptions = {}): Promise<FakeServer> {
  const bodies: Record<string, unknown>[] = [];
  const headers: IncomingMessage['headers'][] = [];
  let inFlight = 0;
  let maxInFlight = 0;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/v1/models') {
      const model = {
        id: 'fake',
        owned_by: options.ownedBy ?? 'nobody',
        max_model_len: options.maxModelLen,
      };
      response.end(JSON.stringify({ object: 'list', data: [model] }));
      return;
    }
    maxInFlight = Math.max(maxInFlight, ++inFlight);
    const index = bodies.length;
    const body = (await readJson(request)) as Record<string, unknown>;
    bodies.push(body);
    headers.push(request.headers);
    await streamAnswer(response, body, request.url ?? '', index);
    inFlight--;
  }

  async function streamAnswer(
    response: ServerResponse,
    body: Record<string, unknown>,
    path: string,
    index: number,
  ): Promise<void> {
    const kind = options.answer?.(index) ?? 'whole';
    if (kind === 'refused') {
      response.writeHead(429).end(JSON.stringify({ error: { message: 'too many requests' } }));
      return;
    }
    if (kind === 'silent') return;
    const isChat = path.endsWith('/chat/completions');
    const numTokens = Number(body['max_tokens'] ?? body['max_completion_tokens']);
    const send = (chunk: object) => response.write(`data: ${JSON.stringify(chunk)}\r\n\r\n`);
    const choice = (text: string, finish: string | null) =>
      isChat
        ? { delta: { content: text }, finish_reason: finish }
        : { text, finish_reason: finish };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (isChat) send({ choices: [{ delta: { role: 'assistant' }, finish_reason: null }] });
    for (let token = 0; token < numTokens; token++) {
      await sleep(TOKEN_GAP_MS);
      send({ choices: [choice('wörd ', null)] });
      if (kind === 'broken' && token === 1) {
        response.destroy();
        return;
      }
    }
    if (kind === 'error') send({ error: { message: 'the engine died' } });
    else send({ choices: [choice('', 'length')] });
    if (options.withUsage ?? true) {
      send({ choices: [], usage: { prompt_tokens: 7, completion_tokens: numTokens } });
    }
    response.end('data: [DONE]\r\n\r\n');
  }

  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    bodies,
    headers,
    maxInFlight: () => maxInFlight,
  };
}
