/** A model's eyes: how prompts show images to it, and the embeddings that it has of them. */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { PromptEmbeddings } from '../../engine/request.ts';
import type { NumberValue } from '../../encoder/tensors/tensor.ts';
import { amongOthers, type Cutting, inLowDetail } from '../../images/cut-image.ts';
import type { TileGrid } from '../../images/tiles.ts';
import { LIMITS } from '../../limits.ts';
import { once } from '../../once.ts';
import { ownTurn } from '../../own-turn.ts';
import type { Caller } from '../caller.ts';
import type {
  EmbeddedImages,
  EmbedFor,
  EmbeddingCounts,
  ImageEmbedder,
  PromptImage,
} from '../generation/prompt-image.ts';
import { ClientBudget } from '../images/client-budget.ts';
import { addInTurns } from '../images/file-hash.ts';
import type { ReadTiles } from '../images/image-job.ts';
import type { ImagePool } from '../images/image-pool.ts';
import type { CutImage, ImageCutter, ImageFile } from '../prompts/place-images.ts';
import { KnownRows, type Rows } from '../tensors/known-rows.ts';
import type { TensorModel } from '../tensors/tensor-model.ts';

/** How an image is shown in a prompt. */
type ShownImage = Omit<CutImage, 'file' | 'inDetail' | 'hashes'>;

/** How a model takes images. */
export interface VisionFormat {
  readonly cutting: Cutting;
  /** As of ImageCutter. */
  readonly tokenId: number;
  /** Width of its embeddings. */
  readonly hiddenSize: number;
  /** How an image with such a grid of tiles, or of cells, is shown. */
  shown(grid: TileGrid): ShownImage;
  /** Makes embeddings of the whole image of those of its tiles; left out where these are seen as they are. */
  readonly packing?: {
    readonly tokensPerPart: number;
    /** Adds what a tile has of them to those of the image, which are zeros before the first. */
    pack(packed: Rows, made: Rows, tile: number, grid: TileGrid): void;
  };
  /** Inputs of the encoder for a tile of an image. */
  inputs(pixels: Uint8Array, grid: TileGrid): readonly NumberValue[];
}

export interface VisionOptions {
  readonly format: VisionFormat;
  readonly pool: Pick<ImagePool, 'tiles'>;
  /** Gives a tile's embeddings, float [..., hidden]. */
  readonly encoder: Pick<TensorModel, 'infer'>;
}

export class Vision implements ImageCutter, ImageEmbedder {
  readonly tokenId: number;
  readonly #options: VisionOptions;
  readonly #held = new ClientBudget(LIMITS.imageEmbeddingBytes, LIMITS.clientImageEmbeddingBytes);
  /** Embeddings of tiles, by hash and salt. */
  readonly #known = new KnownRows(LIMITS.imageCacheBytes);
  /** Images of earlier turns, by what is in their files, and by client. */
  readonly #cut = new LRUCache<string, Omit<CutImage, 'file' | 'inDetail' | 'isAmongOthers'>>({
    max: LIMITS.imagesKnown,
  });

  constructor(options: VisionOptions) {
    this.#options = options;
    this.tokenId = options.format.tokenId;
  }

  get counts(): EmbeddingCounts {
    return this.#known.counts;
  }

  async cut(images: readonly ImageFile[], caller: Caller): Promise<readonly CutImage[]> {
    const { format, pool } = this.#options;
    const cut: CutImage[] = [];
    const isOne = images.length === 1 || amongOthers(format.cutting) === format.cutting;
    const among = isOne ? {} : ({ isAmongOthers: true } as const);
    for (const { file, detail } of images) {
      const seen = { inDetail: detail !== 'low', ...among };
      const key = `${await hashOf(file)} ${JSON.stringify(seen)} ${caller.client}`;
      let found = this.#cut.get(key);
      if (found === undefined) {
        const job = { file, cutting: this.#cutting(seen), wantsPixels: false };
        const { hashes, ...read } = await pool.tiles(job, caller);
        found = { ...format.shown(read), ...this.#places(hashes, read) };
        this.#cut.set(key, found);
      }
      cut.push({ file, ...seen, ...found });
    }
    return cut;
  }

  /** One tile at a time, so that other requests' come in between. */
  async embed(
    images: readonly PromptImage[],
    salt: string,
    caller: EmbedFor,
  ): Promise<EmbeddedImages> {
    const { hiddenSize } = this.#options.format;
    const numTokens = images.reduce(
      (sum, { tiles, tokensPerTile, parts }) =>
        // Parts come one at a time.
        sum + tiles.length * tokensPerTile + (parts?.tokens ?? 0),
      0,
    );
    const bytes = numTokens * hiddenSize * Float32Array.BYTES_PER_ELEMENT;
    this.#held.take(caller.client, bytes);
    const release = once(() => this.#held.give(caller.client, bytes));
    try {
      const embeddings: PromptEmbeddings[] = [];
      for (const image of images) embeddings.push(...(await this.#embedImage(image, salt, caller)));
      return { embeddings, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  async #embedImage(
    image: PromptImage,
    salt: string,
    caller: EmbedFor,
  ): Promise<PromptEmbeddings[]> {
    const { file, tiles, grid, seesWhole, tokensPerTile } = image;
    const { tokensPerLine = tokensPerTile } = image;
    const job = { file, cutting: this.#cutting(image), wantsPixels: true };
    let reading: Promise<ReadTiles> | undefined;
    const rowsOf = (hash: string, index: number) =>
      this.#known.of(`${hash} ${salt}`, caller.signal, async () => {
        reading ??= this.#options.pool.tiles(job, caller);
        const { pixels, ...read } = await reading;
        return await this.#encode(pixels[index] ?? new Uint8Array(), read, caller);
      });
    const { packing, hiddenSize } = this.#options.format;
    if (image.parts !== undefined && packing !== undefined) {
      const rows = new Float32Array(tokensPerTile * hiddenSize);
      for (const [index, hash] of image.parts.hashes.entries()) {
        const made = await rowsOf(hash, index);
        await ownTurn();
        packing.pack(rows, made, index, image.parts.grid);
      }
      return tiles.map(({ start }) => ({ start, rows }));
    }
    const embeddings: PromptEmbeddings[] = [];
    for (const [index, { start, hash }] of tiles.entries()) {
      const rows = await rowsOf(hash, index);
      const attentionEnd = seesWhole ? start + tokensPerTile : undefined;
      if (tokensPerLine < tokensPerTile) {
        embeddings.push(...linesOf(rows, start, tokensPerTile / tokensPerLine, tokensPerLine));
      } else {
        embeddings.push({
          start,
          rows,
          ...(grid && { grid }),
          ...(attentionEnd && { attentionEnd }),
        });
      }
    }
    return embeddings;
  }

  /** Hashes that an image's places in a prompt are known by: of tiles that are packed, one of all. */
  #places(
    hashes: readonly string[],
    read: Omit<ReadTiles, 'hashes'>,
  ): Pick<CutImage, 'hashes' | 'parts'> {
    const { packing } = this.#options.format;
    if (packing === undefined) return { hashes };
    const { rows, columns, shown, scaled } = read;
    const grid = { rows, columns, ...(shown && { shown }), ...(scaled && { scaled }) };
    const whole = createHash('sha256')
      .update(JSON.stringify([grid, hashes]))
      .digest('hex');
    return { hashes: [whole], parts: { grid, hashes, tokens: packing.tokensPerPart } };
  }

  #cutting({ inDetail, isAmongOthers }: Pick<PromptImage, 'inDetail' | 'isAmongOthers'>): Cutting {
    const { cutting } = this.#options.format;
    if (isAmongOthers) return amongOthers(cutting);
    return inDetail ? cutting : inLowDetail(cutting);
  }

  async #encode(pixels: Uint8Array, grid: TileGrid, caller: EmbedFor): Promise<Rows> {
    const { encoder, format } = this.#options;
    const [made] = await encoder.infer(format.inputs(pixels, grid), {}, caller);
    if (!(made?.data instanceof Float32Array)) throw new Error('the encoder gave no embeddings');
    return new Float32Array(made.data);
  }
}

/** The lines of a tile, each before a token of text. */
function linesOf(
  rows: Rows,
  start: number,
  numLines: number,
  tokensPerLine: number,
): PromptEmbeddings[] {
  const size = rows.length / numLines;
  return Array.from({ length: numLines }, (_, line) => ({
    start: start + line * (tokensPerLine + 1),
    rows: rows.slice(line * size, (line + 1) * size),
  }));
}

async function hashOf(file: Uint8Array): Promise<string> {
  const hash = createHash('sha256');
  await addInTurns(hash, file);
  return hash.digest('base64url');
}
