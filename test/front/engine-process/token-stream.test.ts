import { describe, expect, it } from 'vitest';
import type { FinishReason } from '../../../src/engine/request.ts';
import { TokenStream } from '../../../src/front/engine-process/token-stream.ts';

const token = (tokenId: number, finishReason: FinishReason | null = null) => ({
  id: 1,
  tokenId,
  finishReason,
});

describe('a token stream', () => {
  it('gives what collected since the last look as one batch', async () => {
    const stream = new TokenStream();
    const batches = stream.batches();
    stream.push(token(1));
    stream.push(token(2));
    expect((await batches.next()).value?.tokenIds).toEqual([1, 2]);
    const waiting = batches.next();
    stream.push(token(3, 'stop'));
    expect((await waiting).value).toMatchObject({ tokenIds: [3], finishReason: 'stop' });
    expect((await batches.next()).done).toBe(true);
  });

  it('gives what came before a failure, then throws', async () => {
    const stream = new TokenStream();
    stream.push(token(1));
    stream.fail(new Error('broken'));
    const batches = stream.batches();
    expect((await batches.next()).value?.tokenIds).toEqual([1]);
    await expect(batches.next()).rejects.toThrow('broken');
  });

  it('drops what is pending on abort', async () => {
    const stream = new TokenStream();
    stream.push(token(1));
    stream.abort(new Error('left'));
    await expect(stream.batches().next()).rejects.toThrow('left');
  });

  it('says when its consumer is too far behind, and not before', async () => {
    const stream = new TokenStream();
    const batches = stream.batches();
    for (let count = 0; count < 1024; count++) expect(stream.push(token(count))).toBe(true);
    await batches.next();
    for (let count = 0; count < 1024; count++) expect(stream.push(token(count))).toBe(true);
    expect(stream.push(token(0))).toBe(false);
  });
});
