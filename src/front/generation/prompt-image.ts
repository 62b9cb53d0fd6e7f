/** Images of prompts, which have embeddings in place of some tokens. */
import { isEmbedding } from '../../engine/prompt-embeddings.ts';
import type { EmbeddingGrid, PromptEmbeddings } from '../../engine/request.ts';
import type { TileGrid } from '../../images/tiles.ts';

/** Tile of an image, and the position of its first embedding in the prompt. */
export interface PlacedTile {
  readonly start: number;
  /** SHA-256 of its pixels, see ReadTiles. */
  readonly hash: string;
}

/** Tiles of which an encoder makes embeddings one by one, before they become an image's. */
export interface ImageParts {
  readonly grid: TileGrid;
  /** SHA-256 of the pixels of each, see ReadTiles. */
  readonly hashes: readonly string[];
  /** Embeddings of each; one is held at a time. */
  readonly tokens: number;
}

/** An image of a prompt. Its pixels are made again where its embeddings have to be computed. */
export interface PromptImage {
  readonly file: Uint8Array;
  /** Whether it may be cut into tiles besides the one that shows all of it, or into many cells. */
  readonly inDetail: boolean;
  /** Whether it is one of several, where a model sees these in another way than one alone. */
  readonly isAmongOthers?: true | undefined;
  readonly tiles: readonly PlacedTile[];
  readonly tokensPerTile: number;
  /** Tiles that its one tile is packed of, where they are seen by themselves; left out where they are not. */
  readonly parts?: ImageParts | undefined;
  /** Tokens of each line of a tile, between which the prompt has one of text; left out where it has none. */
  readonly tokensPerLine?: number | undefined;
  /** How tokens of its tile lie in the image, where their positions depend on it. */
  readonly grid?: EmbeddingGrid | undefined;
  /** Whether tokens of a tile see each other, those after them too. */
  readonly seesWhole?: boolean | undefined;
}

/** Tiles whose embeddings were looked up, and those whose were there. */
export interface EmbeddingCounts {
  readonly queries: number;
  readonly hits: number;
}

export interface EmbeddedImages {
  readonly embeddings: readonly PromptEmbeddings[];
  /** Gives back the room that they take; may be called again. */
  release(): void;
}

/** Client that the work is charged to, and what ends it. */
export interface EmbedFor {
  readonly client: string;
  readonly signal: AbortSignal;
}

export interface ImageEmbedder {
  /**
   * @param salt shared by those who may find each other's embeddings
   * @throws QueueFullError where requests hold too many, before it waits for anything; ImageError; as
   *   ImagePool.tiles and TensorModel.infer
   */
  embed(images: readonly PromptImage[], salt: string, caller: EmbedFor): Promise<EmbeddedImages>;
}

/** Token ids as clients see them: -1 in place of what is no token. */
export function toldTokenIds(tokenIds: Int32Array): Int32Array {
  return tokenIds.map((id) => (isEmbedding(id) ? -1 : id));
}
