/**
 * Encodes answers as bytes: a cache's memory is counted in them, and replicas hand them to each other.
 * Decoding gives the same answer, bit for bit.
 */
import type { GenerationDelta } from '../generation/generation.ts';
import { TopTokens, type TokenLogprob } from '../generation/token-logprob.ts';
import { ByteReader, ByteWriter } from './byte-writer.ts';
import { joinByChoice } from '../generation/merge-deltas.ts';

const FINISH_REASONS = [null, 'stop', 'length'] as const;
const NO_STOP_REASON = 0;
const STOP_STRING = 1;
const STOP_TOKEN = 2;
/** Written in place of a count if there is no list. */
const ABSENT = -1;
const HALF_PAIR = /\p{Surrogate}/u;
/** Bytes of a log-probability with none of the likeliest. */
const LEAST_LOGPROB = 28;

/** Bytes that a piece takes at most, about. */
export function sizeOf({ text, tokenIds, logprobs, promptLogprobs }: GenerationDelta): number {
  const numLogprobs = countLogprobs(logprobs) + countLogprobs(promptLogprobs);
  return 48 + 3 * text.length + 8 * tokenIds.length + LEAST_LOGPROB * numLogprobs;
}

function countLogprobs(entries: readonly TokenLogprob[] = []): number {
  return entries.reduce((sum, { top }) => sum + 1 + top.length, 0);
}

/**
 * @param deltas of all choices, to their ends
 * @returns null for a text that has no bytes: half of a surrogate pair
 */
export function encodeAnswer(deltas: readonly GenerationDelta[]): Buffer | null {
  const writer = new ByteWriter();
  for (const piece of joinByChoice(deltas)) {
    const { stopReason } = piece;
    const texts = [piece.text, typeof stopReason === 'string' ? stopReason : ''];
    if (texts.some((text) => HALF_PAIR.test(text))) return null;
    writePiece(writer, piece);
  }
  return writer.finish();
}

/** The pieces, each read when it is asked for. @throws RangeError for what is no answer */
export function* decodeAnswer(bytes: Uint8Array): Generator<GenerationDelta, void> {
  const reader = new ByteReader(bytes);
  while (!reader.isAtEnd) yield readPiece(reader);
}

function writePiece(writer: ByteWriter, piece: GenerationDelta): void {
  writer.int(piece.choice ?? ABSENT);
  writer.text(piece.text);
  writer.ints(piece.tokenIds);
  writer.int(FINISH_REASONS.indexOf(piece.finishReason));
  writeStopReason(writer, piece.stopReason);
  writeLogprobs(writer, piece.logprobs);
  writeLogprobs(writer, piece.promptLogprobs);
  writer.int(piece.numCachedTokens ?? ABSENT);
  if (piece.textOffsets === undefined) writer.int(ABSENT);
  else {
    writer.int(0);
    writer.ints(piece.textOffsets);
  }
}

function readPiece(reader: ByteReader): GenerationDelta {
  return {
    choice: presentOf(reader.int()),
    text: reader.text(),
    tokenIds: reader.ints(),
    finishReason: FINISH_REASONS[reader.int()] ?? null,
    stopReason: readStopReason(reader),
    logprobs: readLogprobs(reader),
    promptLogprobs: readLogprobs(reader),
    numCachedTokens: presentOf(reader.int()),
    textOffsets: reader.int() === ABSENT ? undefined : reader.ints(),
  };
}

function presentOf(value: number): number | undefined {
  return value === ABSENT ? undefined : value;
}

function writeStopReason(writer: ByteWriter, reason: GenerationDelta['stopReason']): void {
  if (reason === null) {
    writer.int(NO_STOP_REASON);
  } else if (typeof reason === 'string') {
    writer.int(STOP_STRING);
    writer.text(reason);
  } else {
    writer.int(STOP_TOKEN);
    writer.int(reason);
  }
}

function readStopReason(reader: ByteReader): GenerationDelta['stopReason'] {
  const kind = reader.int();
  if (kind === NO_STOP_REASON) return null;
  return kind === STOP_STRING ? reader.text() : reader.int();
}

function writeLogprobs(writer: ByteWriter, entries: readonly TokenLogprob[] | undefined): void {
  if (entries === undefined) {
    writer.int(ABSENT);
    return;
  }
  writer.int(0);
  writer.int(entries.length);
  for (const { tokenId, logprob, rank, textOffset, isShown, top } of entries) {
    writer.int(tokenId);
    writer.double(logprob);
    writer.int(rank);
    writer.int(textOffset);
    writer.int(isShown ? 1 : 0);
    writer.int(top.length);
    for (const other of top) {
      writer.int(other.tokenId);
      writer.double(other.logprob);
    }
  }
}

function readLogprobs(reader: ByteReader): TokenLogprob[] | undefined {
  if (reader.int() === ABSENT) return undefined;
  const topIds: number[] = [];
  const topLogprobs: number[] = [];
  return Array.from({ length: reader.count(LEAST_LOGPROB) }, () => ({
    tokenId: reader.int(),
    logprob: reader.double(),
    rank: reader.int(),
    textOffset: reader.int(),
    isShown: reader.int() === 1,
    top: readTop(reader, topIds, topLogprobs),
  }));
}

function readTop(reader: ByteReader, tokenIds: number[], logprobs: number[]): TopTokens {
  const start = tokenIds.length;
  const length = reader.count(12);
  for (let index = 0; index < length; index++) {
    tokenIds.push(reader.int());
    logprobs.push(reader.double());
  }
  return new TopTokens(tokenIds, logprobs, start, length);
}
