import { OrtError } from '../../ort/error.ts';

/** The device is lost, with all that it holds; the message says why in one line. */
export class DeviceError extends Error {
  override readonly name = 'DeviceError';
}

/** Advice for a KV cache that does not fit. */
export const CACHE_ADVICE =
  'Lower --kv-cache-memory, --max-num-seqs or --max-model-len, or use --device cpu';

/** Messages of execution providers, and their meaning. */
const MEANINGS: readonly (readonly [said: RegExp, meaning: string])[] = [
  [/device\W+is lost/i, 'the device was lost'],
  // WebGPU says nothing of an allocation that fails; the first run over it does.
  [
    /invalid buffer|out of memory|failed to allocate/i,
    'the device is out of memory, or a buffer is larger than it allows',
  ],
];

/**
 * Calls ONNX Runtime for something on a device.
 * @throws DeviceError in place of an OrtError
 */
export function onDevice<R>(action: () => R): R {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof OrtError)) throw error;
    const said = inOneLine(error.message);
    const meaning = MEANINGS.find(([pattern]) => pattern.test(said))?.[1] ?? 'the device failed';
    throw new DeviceError(`${meaning} (ONNX Runtime: ${said})`, { cause: error });
  }
}

/** Some messages begin with a place in ONNX Runtime's sources and a condition: both are removed. */
function inOneLine(message: string): string {
  const line = message.trim().replaceAll(/\s+/g, ' ');
  return line.replace(/^\S+\.(?:cc|h|cpp):\d+ .* was false\. /, '').replace(/\.$/, '');
}

/**
 * Sets up something on a device.
 * @param what it is, and how large
 * @throws DeviceError that names it, too, and says what may help
 */
export function setUpOnDevice<R>(what: string, advice: string, action: () => R): R {
  try {
    return onDevice(action);
  } catch (error) {
    if (!(error instanceof DeviceError)) throw error;
    throw new DeviceError(`${what} cannot be set up: ${error.message}. ${advice}`, {
      cause: error,
    });
  }
}
