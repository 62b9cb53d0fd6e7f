import type { ActivationDtype } from '../model/manifest.ts';
import type { ChosenDevice } from './device.ts';
import { UsageError } from './errors.ts';
import type { Options } from './options.ts';

/**
 * What `--attention` means on a device. `auto` is slots: no GPU has been measured yet.
 * @throws UsageError where there is no kernel for PagedAttention
 */
export function resolveAttention(
  option: Options['attention'],
  {
    device: { name, graphCapture },
    hasPagedAttention,
  }: Pick<ChosenDevice, 'device' | 'hasPagedAttention'>,
  activationDtype: ActivationDtype,
): 'slots' | 'paged' {
  if (option !== 'paged') return 'slots';
  if (!hasPagedAttention) {
    throw new UsageError(
      `--attention paged needs a kernel for PagedAttention in float16, and ${name} has none here: ` +
        'leave it out, or give --attention slots',
    );
  }
  if (activationDtype !== 'float16') {
    throw new UsageError('--attention paged computes in float16: --precision fp16 or int4');
  }
  if (graphCapture) throw new UsageError('--graph-capture needs --attention slots');
  return 'paged';
}
