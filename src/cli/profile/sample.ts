/** One request, seen from both ends. */
import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import { UserError } from '../../user-error.ts';
import type { ServerClient } from '../server/server-client.ts';

export interface Sample {
  /** From sending to the end of the answer, in milliseconds. */
  readonly clientMs: number;
  /** The server's own time of it. */
  readonly serverMs: number;
  /** The server's stages by name, in milliseconds. */
  readonly stagesMs: ReadonlyMap<string, number>;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
}

const REQUEST_MS = 600_000;

const chunk = z.object({
  error: z.object({ message: z.string() }).optional(),
  usage: z
    .object({
      prompt_tokens: z.number(),
      completion_tokens: z.number(),
      prompt_tokens_details: z.object({ cached_tokens: z.number() }).nullish(),
    })
    .nullish(),
});

const TIMING = /^\s*server-timing (.*)$/;

/** @throws UserError when the server refuses it, fails, or does not report where its time went */
export async function takeSample(
  client: ServerClient,
  path: string,
  body: object,
): Promise<Sample> {
  const startedAt = performance.now();
  const answer = await client.stream(path, body, AbortSignal.timeout(REQUEST_MS));
  let timing = '';
  let usage: z.infer<typeof chunk>['usage'];
  const parser = createParser({
    onComment: (comment) => (timing = TIMING.exec(comment)?.[1] ?? timing),
    onEvent({ data }) {
      if (data === '[DONE]') return;
      const { error, usage: counted } = client.parse(data, chunk);
      if (error !== undefined) throw new UserError(`the server failed: ${error.message}`);
      usage = counted ?? usage;
    },
  });
  const decoder = new TextDecoder();
  await client.reading(async () => {
    for await (const bytes of answer) {
      parser.feed(decoder.decode(bytes as Buffer, { stream: true }));
    }
  });
  const clientMs = performance.now() - startedAt;
  const stagesMs = parseTiming(timing);
  const serverMs = stagesMs.get('total');
  stagesMs.delete('total');
  if (serverMs === undefined) {
    throw new UserError(
      `${client.url} does not report where its time goes: only Chairlift can be profiled`,
    );
  }
  return {
    clientMs,
    serverMs,
    stagesMs,
    promptTokens: usage?.prompt_tokens ?? 0,
    cachedTokens: usage?.prompt_tokens_details?.cached_tokens ?? 0,
    outputTokens: usage?.completion_tokens ?? 0,
  };
}

/** Parses a `Server-Timing` header: `name;dur=12.3, ...`. */
export function parseTiming(header: string): Map<string, number> {
  const entries = header.matchAll(/([\w-]+);dur=([\d.]+)/g);
  return new Map(Array.from(entries, ([, name = '', ms]) => [name, Number(ms)]));
}
