import type { ServerResponse } from 'node:http';
import type { JsonObject } from '../json-object.ts';
import { drained } from '../../drained.ts';
import { LazyList } from './lazy-list.ts';
import { ownTurn } from '../../own-turn.ts';

/**
 * Answers with JSON text that is made piece by piece: others get their turn of the event loop in
 * between, and a client that reads slowly holds back what is made.
 */
export async function writeJsonPieces(
  response: ServerResponse,
  pieces: Iterable<string | Uint8Array>,
  headers: Headers,
): Promise<void> {
  response.writeHead(200, { ...Object.fromEntries(headers), 'content-type': 'application/json' });
  await writePieces(response, pieces);
}

/** Ends a response whose head is written with what is made piece by piece, likewise. */
export async function writePieces(
  response: ServerResponse,
  pieces: Iterable<string | Uint8Array>,
): Promise<void> {
  for (const piece of pieces) {
    if (response.destroyed) return;
    if (!response.write(piece)) await drained(response);
    // Also after that: where the system takes the piece at once, it comes in the same turn.
    await ownTurn();
  }
  response.end();
}

/** The bytes of what is made piece by piece, likewise. */
export async function bytesOfPieces(pieces: Iterable<string>): Promise<Buffer[]> {
  const bytes: Buffer[] = [];
  for (const piece of pieces) {
    if (bytes.length > 0) await ownTurn();
    bytes.push(Buffer.from(piece));
  }
  return bytes;
}

/** Least size of a write: smaller pieces are joined, since each write takes a turn. */
const MIN_PIECE_CHARACTERS = 2 ** 14;

/** The same text in fewer pieces. */
export function* merged(pieces: Iterable<string>): Generator<string, void> {
  let text = '';
  for (const piece of pieces) {
    text += piece;
    if (text.length < MIN_PIECE_CHARACTERS) continue;
    yield text;
    text = '';
  }
  if (text !== '') yield text;
}

/** Levels of an answer at which a list may be long: log-probabilities of a chat are on the fifth. */
const PIECE_DEPTH = 5;

/** An object as JSON.stringify has it, in pieces that are small wherever its lists have small elements. */
export function jsonPieces(object: JsonObject): Generator<string, void> {
  return merged(valuePieces(object, PIECE_DEPTH));
}

function* valuePieces(value: unknown, depth: number): Generator<string, void> {
  if (depth === 0 || typeof value !== 'object' || value === null) {
    yield JSON.stringify(value) ?? 'null';
  } else if (Array.isArray(value) || value instanceof LazyList) {
    yield* listPieces(value, depth - 1);
  } else {
    yield* fieldPieces(value, depth - 1);
  }
}

function* listPieces(list: Iterable<unknown>, depth: number): Generator<string, void> {
  let before = '[';
  for (const element of list) {
    yield before;
    yield* valuePieces(element, depth);
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

function* fieldPieces(object: object, depth: number): Generator<string, void> {
  const fields = Object.entries(object).filter(([, value]) => value !== undefined);
  yield '{';
  for (const [index, [name, value]] of fields.entries()) {
    yield `${index > 0 ? ',' : ''}${JSON.stringify(name)}:`;
    yield* valuePieces(value, depth);
  }
  yield '}';
}
