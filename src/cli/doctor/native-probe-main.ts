/** The process that loads the native libraries: it may crash in place of `chairlift doctor`. */
import type { NativeProbe } from './native-checks.ts';
import { reasonOf } from '../../files/system-error.ts';

async function outcomeOf(load: () => Promise<string>) {
  try {
    return { version: await load() };
  } catch (error) {
    return { failure: reasonOf(error) };
  }
}

// One after the other, since the second is loaded through the first.
const koffi = await outcomeOf(async () => (await import('koffi')).default.version);
const onnxRuntime = await outcomeOf(async () =>
  (await import('../../ort/environment.ts')).ortVersion(),
);
const probe: NativeProbe = { koffi, onnxRuntime };
process.send?.(probe, () => process.exit(0));
