/** Blocks for tests of the prefix tier's folder. */
import { type BlockKey, blockKeys, TIER_BLOCK } from '../../src/engine/prefix-tier/block-names.ts';

export const ORIGIN = { model: 'a model', precision: 'fp32' };
export const BLOCK_BYTES = 2 ** 20;

export function keysOf(seed: number, numBlocks: number, model = ORIGIN.model): BlockKey[] {
  const length = numBlocks * TIER_BLOCK;
  return blockKeys(
    model,
    '',
    Int32Array.from({ length }, (_, at) => at * seed),
  );
}

/** Bytes that no other block has. */
export function blockBytesOf({ name }: Pick<BlockKey, 'name'>): Uint8Array {
  return new Uint8Array(Buffer.alloc(BLOCK_BYTES, name));
}
