import { expect, test } from 'vitest';
import { LIMITS } from '../../src/limits.ts';
import { FrameTurns } from '../../src/server/websocket/frame-turns.ts';

/** Notes its name for each of its frames, which take a while. */
function holder(name: string, numFrames: number, frameMs: number, handled: string[]) {
  let numLeft = numFrames;
  return {
    handlePiece(): boolean {
      const until = performance.now() + frameMs;
      while (performance.now() < until);
      handled.push(name);
      return --numLeft > 0;
    },
  };
}

test('sockets take turns, and leave the loop to others in between', async () => {
  const turns = new FrameTurns();
  const handled: string[] = [];
  const frameMs = LIMITS.frameTurnMs / 5;
  turns.add(holder('a', 40, frameMs, handled));
  const numAtOnce = handled.length;
  turns.add(holder('b', 20, frameMs, handled));
  turns.add(holder('c', 1, frameMs, handled));
  expect(handled.length).toBe(numAtOnce);
  expect(numAtOnce).toBeLessThan(10);
  let numTurns = 0;
  while (handled.length < 61) {
    const before = handled.length;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    expect(handled.length - before).toBeLessThanOrEqual(10);
    numTurns++;
  }
  expect(numTurns).toBeGreaterThan(5);
  const rest = handled.slice(numAtOnce).join('');
  expect(rest.slice(0, 9)).toBe('abcababab');
});
