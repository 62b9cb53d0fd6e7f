import type { DecoderManifest } from '../../model/manifest.ts';
import { CPU_DEVICE } from '../gpu/device-options.ts';
import { type KvShape, windowBudget } from '../kv-shape.ts';
import type { WindowBudget } from '../windows/window-budget.ts';
import type { EngineOptions } from './protocol.ts';

/**
 * The memory of a cache in slots whose layers with a sliding window hold windows alone; null where they keep
 * every position: without windows, or where they are longer than texts; on a device, whose cache is allocated
 * as a whole; and on Windows, which takes memory back as a whole.
 */
export function windowsOf(
  limits: Pick<
    EngineOptions,
    'device' | 'prefixTier' | 'durableKv' | 'maxNumBatchedTokens' | 'prefixCaching'
  >,
  {
    slidingWindows,
    states,
    kernels,
  }: Pick<DecoderManifest, 'slidingWindows' | 'states' | 'kernels'>,
  shape: KvShape,
): WindowBudget | null {
  const { device = CPU_DEVICE, prefixTier = null, durableKv = false } = limits;
  if (device.name !== 'cpu' || process.platform === 'win32') return null;
  // A tier's blocks are of all layers, and texts of layers with states go on where these are.
  if (prefixTier !== null || states !== undefined) return null;
  // ONNX Runtime reads what it masks: shared memory would be taken again.
  if (durableKv && kernels === 'onnxruntime') return null;
  const { maxNumBatchedTokens: stepTokens, prefixCaching } = limits;
  return windowBudget(shape, slidingWindows, { stepTokens, prefixCaching });
}
