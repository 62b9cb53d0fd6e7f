import type { SamplingParams } from '../engine/request.ts';
import type { Engine, TokenBatch } from '../front/engine-process/engine-contract.ts';
import { plainRequest } from '../front/generation/plain-request.ts';
import type { CollectedText, TargetTable } from './target-record.ts';

/** A text to collect targets of. */
export interface TargetJob {
  readonly line: number;
  readonly promptTokenIds: Int32Array;
  /** To generate; 0 for a text whose own tokens alone are wanted. */
  readonly maxTokens: number;
  readonly stopTokenIds: readonly number[];
  readonly sampling: SamplingParams;
  readonly numTop: number;
  /** Targets of the prompt's tokens, too. */
  readonly withPrompt: boolean;
}

/** Has the teacher continue, or read, one text. @throws EngineError if the engine fails it */
export async function collectTargets(
  engine: Pick<Engine, 'generate'>,
  job: TargetJob,
  signal: AbortSignal,
): Promise<CollectedText> {
  const { line, promptTokenIds, maxTokens, numTop } = job;
  const withPrompt = job.withPrompt || maxTokens === 0;
  // An engine generates one token at least.
  const request = plainRequest(promptTokenIds, Math.max(1, maxTokens), {
    stopTokenIds: job.stopTokenIds,
    sampling: job.sampling,
    logprobs: numTop,
    promptLogprobs: withPrompt ? numTop : null,
  });
  const tokens = [...promptTokenIds];
  const tables: TargetTable[] = [];
  for await (const batch of engine.generate(request, signal)) {
    if (batch.promptLogprobs) tables.push(batch.promptLogprobs);
    if (maxTokens > 0) addGenerated(batch, tokens, tables);
  }
  const first = withPrompt ? 1 : promptTokenIds.length;
  return { line, tokens, numPrompt: promptTokenIds.length, first, tables };
}

function addGenerated(
  { tokenIds, logprobs = [] }: TokenBatch,
  tokens: number[],
  tables: TargetTable[],
): void {
  tokens.push(...tokenIds);
  tables.push(...logprobs);
}
