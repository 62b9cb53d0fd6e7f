import { setImmediate, setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { TokenDetails } from '../../../src/engine/process/step-message.ts';
import type { FinishReason } from '../../../src/engine/request.ts';
import { TokenStream } from '../../../src/front/engine-process/token-stream.ts';

const token = (
  tokenId: number,
  finishReason: FinishReason | null = null,
): [number, TokenDetails | null] => [tokenId, finishReason === null ? null : { finishReason }];

describe('a token stream', () => {
  it('gives what collected since the last look as one batch', async () => {
    const stream = new TokenStream();
    stream.push(...token(1));
    stream.push(...token(2));
    expect((await stream.next()).value?.tokenIds).toEqual([1, 2]);
    const waiting = stream.next();
    stream.push(...token(3));
    stream.push(...token(4, 'stop'));
    stream.flush();
    expect((await waiting).value).toMatchObject({ tokenIds: [3, 4], finishReason: 'stop' });
    expect((await stream.next()).done).toBe(true);
  });

  it('gives what came before a failure, then throws', async () => {
    const stream = new TokenStream();
    stream.push(...token(1));
    stream.fail(new Error('broken'));
    expect((await stream.next()).value?.tokenIds).toEqual([1]);
    await expect(stream.next()).rejects.toThrow('broken');
  });

  it('drops what is pending on abort', async () => {
    const stream = new TokenStream();
    stream.push(...token(1));
    stream.abort(new Error('left'));
    await expect(stream.next()).rejects.toThrow('left');
  });

  /** @returns whether the last one was taken */
  function pushMany(stream: TokenStream, count: number): boolean {
    let isTaken = true;
    for (let index = 0; index < count; index++) isTaken = stream.push(...token(index));
    return isTaken;
  }

  it('says when its consumer is too far behind for long', async () => {
    const stream = new TokenStream();
    expect(pushMany(stream, 1025)).toBe(true);
    await setTimeout(400);
    expect(pushMany(stream, 1)).toBe(false);
    // It has caught up.
    await stream.next();
    expect(pushMany(stream, 1025)).toBe(true);
    const slow = new TokenStream();
    pushMany(slow, 1024);
    await setTimeout(400);
    expect(pushMany(slow, 1)).toBe(true);
  });

  it('waits for a consumer who had no turn, after a pause of the event loop', async () => {
    const stream = new TokenStream();
    const reading = (async () => {
      for await (const { tokenIds } of stream) if (tokenIds.includes(-2)) return true;
      return false;
    })();
    await setImmediate();
    expect(pushMany(stream, 3000)).toBe(true);
    const until = performance.now() + 400;
    while (performance.now() < until);
    expect(pushMany(stream, 3000)).toBe(true);
    stream.flush();
    await setTimeout(10);
    expect(pushMany(stream, 3000)).toBe(true);
    await stream.return();
    expect(await reading).toBe(false);
  });

  it('keeps no more than so many tokens at all', () => {
    const stream = new TokenStream();
    expect(pushMany(stream, 16 * 1024)).toBe(true);
    expect(pushMany(stream, 1)).toBe(false);
  });

  it('tells once that it has ended, however it does', async () => {
    const endings: ((stream: TokenStream) => unknown)[] = [
      (stream) => stream.push(...token(2, 'stop')),
      (stream) => stream.fail(new Error('broken')),
      (stream) => stream.abort(new Error('left')),
      (stream) => stream.return(),
    ];
    for (const end of endings) {
      const stream = new TokenStream();
      let numEnds = 0;
      stream.onEnd = () => numEnds++;
      stream.push(...token(1));
      expect(numEnds).toBe(0);
      end(stream);
      expect(numEnds).toBe(1);
      for (const again of endings) again(stream);
      expect(numEnds).toBe(1);
    }
  });

  it('wakes who waits for a token when it is not wanted any more', async () => {
    const stream = new TokenStream();
    const waiting = stream.next();
    void stream.return();
    expect((await waiting).done).toBe(true);
  });
});
