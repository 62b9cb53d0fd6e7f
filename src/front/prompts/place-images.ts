/** Gives the tiles of images their places in a prompt. */
import { createHash } from 'node:crypto';
import type { Caller } from '../caller.ts';
import type { PlacedTile, PromptImage } from '../generation/prompt-image.ts';

/** File of an image, as a client gives it. */
export interface ImageFile {
  readonly file: Uint8Array;
  readonly detail: 'auto' | 'low' | 'high';
}

/** An image that was cut, before it has its place in a prompt. */
export interface CutImage extends Omit<PromptImage, 'tiles'> {
  /** Text that a prompt has in its place. */
  readonly placeholder: string;
  /** SHA-256 of each tile's pixels. */
  readonly hashes: readonly string[];
}

export interface ImageCutter {
  /** Token that a placeholder has at each position of a tile. */
  readonly tokenId: number;
  /** @throws ImageError, QueueFullError; see ImagePool.tiles */
  cut(images: readonly ImageFile[], caller: Caller): Promise<readonly CutImage[]>;
}

export interface PlacedImages {
  readonly tokenIds: Int32Array;
  readonly images: readonly PromptImage[];
}

/**
 * The prompt with ids of its own for each position of a tile.
 * @throws Error when the prompt has more or fewer positions than the images need
 */
export function placeImages(
  promptTokenIds: Int32Array,
  cut: readonly CutImage[],
  { tokenId }: Pick<ImageCutter, 'tokenId'>,
): PlacedImages {
  const tokenIds = Int32Array.from(promptTokenIds);
  let next = 0;
  const placeTile = (hash: string, image: CutImage): PlacedTile => {
    const { tokensPerTile, tokensPerLine = tokensPerTile } = image;
    const start = tokenIds.indexOf(tokenId, next);
    const ids = embeddingIds(hash, tokensPerTile);
    for (let line = 0; line < tokensPerTile / tokensPerLine; line++) {
      const from = start + line * (tokensPerLine + 1);
      const places = tokenIds.subarray(from, from + tokensPerLine);
      const isThere = start !== -1 && places.length === tokensPerLine;
      if (!isThere || places.some((id) => id !== tokenId)) throw wrongNumber();
      places.set(ids.subarray(line * tokensPerLine, (line + 1) * tokensPerLine));
      next = from + tokensPerLine;
    }
    return { start, hash };
  };
  const images = cut.map((image) => {
    const { placeholder: _text, hashes, ...kept } = image;
    return { ...kept, tiles: hashes.map((hash) => placeTile(hash, image)) };
  });
  if (tokenIds.includes(tokenId)) throw wrongNumber();
  return { tokenIds, images };
}

function wrongNumber(): Error {
  return new Error('the prompt has more or fewer places than its images need');
}

const ID_BYTES = 4;
const SIGN = -(2 ** 31);

/**
 * Ids of embeddings, negative, so that none is a token's, and drawn from the hash of what these are made of: prompts share in the cache what they
 * have in common, and nothing else.
 */
export function embeddingIds(hash: string, numTokens: number): Int32Array {
  const drawn = createHash('shake256', { outputLength: ID_BYTES * numTokens })
    .update(hash)
    .digest();
  return Int32Array.from({ length: numTokens }, (_, at) => drawn.readInt32LE(ID_BYTES * at) | SIGN);
}
