/** Every route of this server: the source of its documentation. */
import { ANTHROPIC_OPERATIONS } from './operations/anthropic-operations.ts';
import { AUDIO_OPERATIONS } from './operations/audio-operations.ts';
import { BATCH_OPERATIONS } from './operations/batch-operations.ts';
import { EMBEDDING_OPERATIONS } from './operations/embedding-operations.ts';
import { KSERVE_OPERATIONS } from './operations/kserve-operations.ts';
import { MODEL_OPERATIONS } from './operations/model-operations.ts';
import { OLLAMA_OPERATIONS } from './operations/ollama-operations.ts';
import { OPENAI_OPERATIONS } from './operations/openai-operations.ts';
import { OPERATING_OPERATIONS } from './operations/operating-operations.ts';
import { PREDICTION_OPERATIONS } from './operations/prediction-operations.ts';
import { RESPONSES_OPERATIONS } from './operations/responses-operations.ts';
import type { Operation } from './operation.ts';

const ALL: readonly Operation[] = [
  ...OPENAI_OPERATIONS,
  ...RESPONSES_OPERATIONS,
  ...ANTHROPIC_OPERATIONS,
  ...EMBEDDING_OPERATIONS,
  ...PREDICTION_OPERATIONS,
  ...AUDIO_OPERATIONS,
  ...BATCH_OPERATIONS,
  ...OLLAMA_OPERATIONS,
  ...MODEL_OPERATIONS,
  ...KSERVE_OPERATIONS,
  ...OPERATING_OPERATIONS,
];

export const OPERATIONS: readonly Operation[] = ALL.flatMap((operation) => {
  const { alias, path } = operation;
  if (alias === undefined) return [operation];
  const { example: _example, answer: _answer, notes: _notes, ...same } = operation;
  return [operation, { ...same, path: alias, summary: `The same as ${path}` }];
});
