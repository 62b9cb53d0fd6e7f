import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { writeJsonPieces } from '../../../src/server/http/json-pieces.ts';

/** As a connection is whose piece is too large for its buffer, and taken by the system at once. */
class Full extends EventEmitter {
  readonly destroyed = false;

  write(): boolean {
    process.nextTick(() => this.emit('drain'));
    return false;
  }

  writeHead(): void {}

  end(): void {}
}

test('others get a turn between two pieces, though the client takes them at once', async () => {
  const turns: number[] = [];
  let turn = 0;
  const count = (): void => {
    turn++;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  function* pieces() {
    for (let index = 0; index < 5; index++) {
      turns.push(turn);
      yield 'a piece';
    }
  }
  await writeJsonPieces(new Full() as unknown as ServerResponse, pieces(), new Headers());
  clearImmediate(timer);
  expect(new Set(turns).size).toBe(5);
});

test('no two answers write in the same turn', async () => {
  const turns: number[] = [];
  let turn = 0;
  const count = (): void => {
    turn++;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  function* pieces() {
    for (let index = 0; index < 5; index++) {
      yield 'a piece';
      turns.push(turn);
    }
  }
  const answer = () =>
    writeJsonPieces(new Full() as unknown as ServerResponse, pieces(), new Headers());
  await Promise.all([answer(), answer(), answer()]);
  clearImmediate(timer);
  expect(new Set(turns).size).toBe(15);
});
