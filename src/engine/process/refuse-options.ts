import { CPU_DEVICE } from '../gpu/device-options.ts';
import type { EngineOptions } from './protocol.ts';

/**
 * Checks that a model is asked for nothing that its layers do not go with: their states, or heads that differ.
 * @throws Error naming the flag
 */
export function refuseOptions(options: EngineOptions): void {
  const { model, speculative = null, device = CPU_DEVICE, durableKv = false, prefixTier } = options;
  if (speculative?.draftModel?.manifest.states) {
    throw new Error('a draft model can have no layers with states: a draft is taken back in part');
  }
  const { family, states, layerHeads } = model.manifest;
  if (layerHeads !== undefined && device.name !== 'cpu') {
    throw new Error(
      `${family} has layers with different heads, which are computed on the CPU alone: leave out --device`,
    );
  }
  if (states === undefined) return;
  const has = `${family} has layers with states`;
  if (device.name !== 'cpu') {
    throw new Error(`${has}, which are kept on the CPU alone: leave out --device`);
  }
  if (durableKv) {
    throw new Error(
      `${has}, which --durable-kv does not keep: leave it out, and after a crash texts are computed again`,
    );
  }
  if (prefixTier) {
    throw new Error(
      `${has}, which --prefix-cache-memory and --prefix-cache-dir do not keep: leave them out`,
    );
  }
}
