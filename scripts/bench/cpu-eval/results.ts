import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const spread = z.object({ median: z.number(), p95: z.number() });

const cellResult = z.object({
  model: z.string(),
  cell: z.string(),
  prompt: z.number(),
  output: z.number(),
  concurrency: z.number(),
  server: z.string(),
  machine: z.string(),
  threads: z.number(),
  /** When it was measured, in UTC. */
  date: z.string(),
  /** Null where a server did not run; `failure` has its message then. */
  figures: z
    .object({
      guidellm: z.string(),
      successful: z.number(),
      errored: z.number(),
      ttftMs: spread,
      itlMs: spread,
      outputTokensPerSecond: z.number(),
      promptTokens: z.number(),
      outputTokens: z.number(),
      tokensPerChunk: z.number(),
      seconds: z.number(),
      startSeconds: z.number(),
      /** Most resident memory of the server's processes, in bytes. */
      peakBytes: z.number(),
    })
    .nullable(),
  failure: z.string().nullable(),
});

/** Contents of a cell's file. */
export type CellResult = z.infer<typeof cellResult>;

/** A cell's result, or undefined where there is none. @throws {Error} if the file is not one */
export async function readResult(path: string): Promise<CellResult | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : cellResult.parse(JSON.parse(text));
}

/** All results of a folder, in the order of their names. */
export async function readResults(folder: string): Promise<CellResult[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort();
  const results = await Promise.all(names.map((name) => readResult(join(folder, name))));
  return results.filter((result) => result !== undefined);
}
