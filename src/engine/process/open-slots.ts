import type { SessionOptions } from '../../ort/session-options.ts';
import { DeviceDecoder } from '../gpu/slots/device-decoder.ts';
import { DeviceKvStorage } from '../gpu/slots/device-kv-storage.ts';
import type { DeviceOptions } from '../gpu/device-options.ts';
import { kvShape } from '../cpu/kv-storage.ts';
import type { EngineOptions } from './protocol.ts';

/**
 * Opens a model on a device. The cache is allocated as a whole: where the budget is too small for all
 * the rows that are wanted there are fewer, and sequences wait for one.
 * @param wantedRows rows of the KV cache
 * @throws DeviceError when the model does not run there or the device lacks memory; Error when not
 *   even one row fits the budget
 */
export function openDevice(
  { model, maxModelLen, kvCacheMemory, speculative }: EngineOptions,
  device: DeviceOptions,
  wantedRows: number,
  session: SessionOptions,
): DeviceDecoder {
  const { manifest } = model;
  if (manifest.kvCacheDtype === 'int8') {
    throw new Error(`an int8 KV cache needs the CPU, not ${device.name}`);
  }
  const shape = kvShape(manifest, wantedRows, maxModelLen);
  const affordable = DeviceKvStorage.rowsWithin(kvCacheMemory, shape);
  if (affordable < 1) {
    throw new Error(
      `${kvCacheMemory} bytes are too few for a KV cache on ${device.name}: it is allocated as a ` +
        `whole, and has not room for two rows of ${maxModelLen} positions. Raise ` +
        '--kv-cache-memory or lower --max-model-len',
    );
  }
  const numRows = Math.min(wantedRows, affordable);
  const maxDraftTokens = speculative?.maxTokens ?? 0;
  return new DeviceDecoder(model, { device, numRows, maxModelLen, maxDraftTokens, session });
}
