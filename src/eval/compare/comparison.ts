/** The table of a comparison: what it was measured with, and a row for each variant. */
import { readNamed } from '../../files/named-files.ts';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { explainZod } from '../../explain-zod.ts';
import { UserError } from '../../user-error.ts';

const amount = z.number().nonnegative();

const workloadSchema = z.strictObject({
  promptTokens: amount,
  outputTokens: amount,
  /** Requests that run at once, one measurement for each. */
  streams: z.array(amount).min(1),
  /** SHA-256 of the evaluation data. */
  data: z.string(),
});

/** Workload of every variant. Only rows with the same workload can stand in one table. */
export type Workload = z.output<typeof workloadSchema>;

const levelSchema = z.strictObject({
  streams: amount,
  /** Milliseconds from asking to the last token. */
  p50Ms: amount,
  p95Ms: amount,
  requestsPerSecond: amount,
  tokensPerSecond: amount,
});

/** Speed with that many streams; medians over rounds. */
export type Level = z.output<typeof levelSchema>;

const rowSchema = z.strictObject({
  variant: z.string(),
  precision: z.string(),
  kernels: z.string(),
  /** Where it was measured. */
  machine: z.string(),
  threads: amount,
  rounds: amount,
  /** Size of the graph and its weights. */
  fileBytes: amount,
  residentBytes: amount,
  /** From starting the engine's process to its being ready; a median. */
  startMs: amount,
  levels: z.array(levelSchema).min(1),
  perplexity: amount.nullable(),
  numScoredTokens: amount,
  tasks: z.array(z.strictObject({ task: z.string(), correct: amount, cases: amount })),
});

export type ComparisonRow = z.output<typeof rowSchema>;

const comparisonSchema = z.strictObject({
  date: z.string(),
  machine: z.string(),
  workload: workloadSchema,
  rows: z.array(rowSchema).min(1),
});

export type Comparison = z.output<typeof comparisonSchema>;

/**
 * Rows that another run measured, elsewhere perhaps, and saved as JSON.
 * @throws {UserError} if the file is none, or its rows did other work than `workload`
 */
export async function readRows(
  path: string,
  workload: Workload,
): Promise<readonly ComparisonRow[]> {
  const text = await readNamed('--row', path);
  const parsed = comparisonSchema.safeParse(parseJson(text));
  if (!parsed.success) {
    throw new UserError(`${path} is no result of eval --compare: ${explainZod(parsed.error)}`);
  }
  const { workload: other, rows } = parsed.data;
  if (isDeepStrictEqual(other, workload)) return rows;
  throw new UserError(
    `${path} was measured with other work, ${JSON.stringify(other)}: this is ${JSON.stringify(workload)}`,
  );
}

/** Undefined, which no JSON text means, for what is none. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
