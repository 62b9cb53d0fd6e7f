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

  it('says when its consumer is too far behind, and not before', async () => {
    const stream = new TokenStream();
    for (let count = 0; count < 1024; count++) expect(stream.push(...token(count))).toBe(true);
    await stream.next();
    for (let count = 0; count < 1024; count++) expect(stream.push(...token(count))).toBe(true);
    expect(stream.push(...token(0))).toBe(false);
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
