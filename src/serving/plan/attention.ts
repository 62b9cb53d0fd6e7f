import type { ActivationDtype } from '../../model/manifest.ts';
import type { ChosenDevice } from '../choices/device.ts';
import { UsageError } from '../../settings/usage-error.ts';
import type { Options } from '../../settings/options.ts';

/**
 * Chooses the attention on a device according to `--attention`. `auto` is slots: no GPU has been
 * measured yet.
 * @throws UsageError where there is no kernel for PagedAttention, or the model has no graph for it
 */
export function resolveAttention(
  option: Options['attention'],
  {
    device: { name, graphCapture },
    hasPagedAttention,
  }: Pick<ChosenDevice, 'device' | 'hasPagedAttention'>,
  activationDtype: ActivationDtype,
  model: 'buildable' | 'export' = 'buildable',
): 'slots' | 'paged' {
  if (model === 'export' && (option === 'paged' || graphCapture)) {
    const flag = graphCapture ? '--graph-capture' : '--attention paged';
    throw new UsageError(`${flag} is for graphs built from safetensors, not for ONNX exports`);
  }
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
