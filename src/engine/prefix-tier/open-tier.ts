import type { CostModel } from '../costs/cost-model.ts';
import { bytesOfPositions, type KvShape } from '../kv-shape.ts';
import { ortVersion } from '../../ort/environment.ts';
import type { BuiltModel } from '../../model/manifest.ts';
import type { BlockOrigin } from './block-file.ts';
import { TIER_BLOCK } from './block-names.ts';
import { FolderBlocks } from './folder-blocks.ts';
import type { FolderOptions } from './folder-sweep.ts';
import { MemoryBlocks } from './memory-blocks.ts';
import { PrefixTier } from './prefix-tier.ts';

/** Where prefixes go that leave the KV cache. */
export interface PrefixTierLimits {
  /** Bytes of memory beside the KV cache; 0 for none. */
  readonly memoryBytes: number;
  /** Null for none. */
  readonly folder: FolderOptions | null;
}

interface TieredModel {
  readonly model: BuiltModel;
  readonly shape: KvShape;
  readonly costs: CostModel;
}

/** Opens the tier of a model. */
export function openTier(
  { memoryBytes, folder }: PrefixTierLimits,
  { model, shape, costs }: TieredModel,
): PrefixTier {
  const origin = originOf(model, shape);
  const blockBytes = bytesOfPositions(shape, TIER_BLOCK);
  return new PrefixTier({
    costs,
    origin,
    blockBytes,
    memory: memoryBytes > 0 ? new MemoryBlocks(memoryBytes) : null,
    folder: folder && new FolderBlocks(folder, origin, blockBytes, tellOfFolder),
  });
}

/** All that a block's bytes depend on but its text; of layers that differ the model tells the rest. */
function originOf({ contentId, manifest }: BuiltModel, shape: KvShape): BlockOrigin {
  const { precision, kernels, kvCacheDtype } = manifest;
  const { heads } = shape;
  return {
    model: contentId,
    precision,
    kernels,
    kvCacheDtype,
    numLayers: heads.length,
    ...heads[0],
    blockTokens: TIER_BLOCK,
    runtime: ortVersion(),
  };
}

function tellOfFolder(trouble: string): void {
  console.error(`chairlift: --prefix-cache-dir: ${trouble}`);
}
