import type { SessionOptions } from '../../ort/session-options.ts';
import { CPU_DEVICE } from '../gpu/device-options.ts';
import { CACHE_ADVICE, setUpOnDevice } from '../gpu/device-error.ts';
import {
  DevicePagedModel,
  pagedPageLength,
  pagedBytesPerPosition,
} from '../gpu/paged/device-paged-model.ts';
import type { EngineOptions } from './protocol.ts';
import { PagedDecoder } from '../gpu/paged/paged-decoder.ts';
import { PagedKvCache } from '../gpu/paged/paged-kv-cache.ts';
import type { BlockLog } from '../kv-cache/block-log.ts';
import { CostModel } from '../costs/cost-model.ts';
import { MAX_DRAFTS } from '../drafter.ts';

export interface OpenedPaged {
  readonly decoder: PagedDecoder;
  readonly kvCache: PagedKvCache;
  readonly costs: CostModel;
  readonly kvCacheBytes: number;
  readonly kvCacheTokens: number;
}

/**
 * Opens a model on a device with its KV cache in pages, as many as the budget allows.
 * @throws DeviceError when the session can't be made or the device lacks memory; Error when the
 *   budget is too small, or there is no such kernel for the device or the model's number format
 */
export function openPaged(
  options: EngineOptions,
  session: SessionOptions,
  blocks: BlockLog | null,
): OpenedPaged {
  const {
    device = CPU_DEVICE,
    model,
    maxNumSeqs,
    maxModelLen,
    kvCacheMemory,
    prefixCaching,
    speculative,
  } = options;
  if (device.name === 'cpu') throw new Error('the CPU has no kernel for PagedAttention');
  const pageLength = pagedPageLength(device.name, model.manifest.headDim);
  const pageBytes = pageLength * pagedBytesPerPosition(model.manifest);
  // As many again keep finished texts while every sequence runs.
  const wantedSlots = prefixCaching ? 2 * maxNumSeqs : maxNumSeqs;
  const numPages = Math.min(
    wantedSlots * Math.ceil(maxModelLen / pageLength),
    Math.floor(kvCacheMemory / pageBytes),
  );
  if (numPages < 2) {
    throw new Error(
      `${kvCacheMemory} bytes are too few for a KV cache: ${pageLength} tokens take ${pageBytes}`,
    );
  }
  const maxDraftTokens = speculative?.maxTokens ?? 0;
  const numLogits = Math.max(maxNumSeqs, MAX_DRAFTS * (1 + maxDraftTokens));
  const pool = { numPages, pageLength };
  const mebibytes = Math.ceil((numPages * pageBytes) / 2 ** 20);
  const pagedModel = setUpOnDevice(
    `the model with a KV cache of ${mebibytes} MiB (${numPages} pages) on ${device.name}`,
    CACHE_ADVICE,
    () => new DevicePagedModel(model, { ...pool, device, numLogits, session }),
  );
  return {
    decoder: new PagedDecoder(pagedModel),
    kvCache: new PagedKvCache({
      ...pool,
      numSlots: maxNumSeqs,
      capacity: maxModelLen,
      prefixCaching,
      blocks,
    }),
    costs: new CostModel({ runsStepsWhole: true }),
    kvCacheBytes: numPages * pageBytes,
    kvCacheTokens: numPages * pageLength,
  };
}
