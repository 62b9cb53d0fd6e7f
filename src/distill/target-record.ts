/** Soft targets of one text: what a teacher held likely at each of its positions. */
import type { Logprobs } from '../engine/request.ts';
import { float32ToFloat16 } from '../model/huggingface/float-conversion.ts';

/** First record of a file: how all others were made. */
export interface TargetsHeader {
  readonly format: 'chairlift-soft-targets';
  readonly version: 1;
  readonly teacher: string;
  readonly precision: string;
  readonly vocab_size: number;
  readonly top_logprobs: number;
  readonly prompt_logprobs: boolean;
  readonly max_tokens: number;
  readonly temperature: number;
  readonly top_p: number;
  readonly seed: number;
  /** SHA-256 of the file of prompts. */
  readonly prompts: string;
}

export interface TargetRecord {
  /** Line in the file of prompts, from 0, empty lines not counted. */
  readonly line: number;
  /** Tokens of the prompt, then those that the teacher generated. */
  readonly tokens: readonly number[];
  readonly num_prompt: number;
  /** The first token that has targets; all after it have, too. */
  readonly first: number;
  /** Base64 of [tokens - first, top_logprobs]: uint16, or uint32 for vocabularies beyond 65,536. */
  readonly ids: string;
  /** Base64 of float16 of that shape: natural logarithms, of the likeliest token first. */
  readonly logprobs: string;
}

/** The targets of consecutive tokens. */
export type TargetTable = Pick<Logprobs, 'tokenIds' | 'logprobs'>;

export interface CollectedText {
  readonly line: number;
  readonly tokens: readonly number[];
  readonly numPrompt: number;
  readonly first: number;
  /** Targets of the tokens from `first` on. */
  readonly tables: readonly TargetTable[];
}

/** @param numTop likeliest tokens of each position, which a table has after the token that is there */
export function toRecord(
  { line, tokens, numPrompt, first, tables }: CollectedText,
  numTop: number,
  vocabSize: number,
): TargetRecord {
  const width = numTop + 1;
  const numRows = tables.reduce((sum, { tokenIds }) => sum + tokenIds.length / width, 0);
  if (numRows !== tokens.length - first) {
    throw new Error(`${numRows} targets came for ${tokens.length - first} tokens`);
  }
  const Ids = vocabSize > 2 ** 16 ? Uint32Array : Uint16Array;
  const ids = new Ids(numRows * numTop);
  const logprobs = new Float32Array(numRows * numTop);
  let row = 0;
  for (const table of tables) {
    for (let from = 1; from < table.tokenIds.length; from += width, row++) {
      ids.set(table.tokenIds.subarray(from, from + numTop), row * numTop);
      logprobs.set(table.logprobs.subarray(from, from + numTop), row * numTop);
    }
  }
  const halves = float32ToFloat16(logprobs);
  return {
    line,
    tokens,
    num_prompt: numPrompt,
    first,
    ids: base64(ids),
    logprobs: base64(halves),
  };
}

/** Little-endian, as all machines are that this runs on. */
function base64({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}
