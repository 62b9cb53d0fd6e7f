import type { DeviceOptions } from '../../engine/gpu/device-options.ts';
import type { SpeculativeOptions } from '../../engine/process/protocol.ts';
import type { DecoderManifest } from '../../model/manifest.ts';
import { inspectModelFolder } from '../../model/folder/model-folder.ts';
import { buildWithProgress } from './build-model.ts';
import type { KernelChoice } from '../choices/kernels.ts';
import { UsageError } from '../../settings/usage-error.ts';
import { localModelFolder } from '../models/download-model.ts';
import { findModel } from '../models/find-model.ts';
import type { Options } from '../../settings/options.ts';
import type { PrecisionChoice } from '../choices/precision-choice.ts';

/**
 * Whether the model is built with its module for multi-token prediction.
 * @throws UsageError when the other flags do not go with `--speculative mtp`
 */
export function wantsPrediction(
  { speculative, kvCacheDtype }: Options<'speculative' | 'kvCacheDtype'>,
  {
    precision,
    nativeKernels,
  }: Pick<PrecisionChoice, 'precision'> & Pick<KernelChoice, 'nativeKernels'>,
  { name }: Pick<DeviceOptions, 'name'>,
): boolean {
  if (speculative !== 'mtp') return false;
  const refuse = (what: string) => new UsageError(`--speculative mtp ${what}`);
  if (name !== 'cpu') throw refuse(`needs --device cpu, not ${name}`);
  if (precision === 'int8-static') throw refuse('does not go with --precision int8-static');
  if (kvCacheDtype === 'int8' && !nativeKernels) {
    throw refuse('needs --kernels native for an int8 KV cache');
  }
  return true;
}

/**
 * Sets up speculative decoding according to `--speculative`, with the draft model built; null for none.
 * `auto` drafts only where that can't change a text: on GPUs, and with quantized weights or a quantized
 * cache and ONNX Runtime's kernels, a run of several tokens rounds differently from a run of one.
 * @throws UsageError when the flags do not go together
 * @throws ModelError when the draft model is missing, damaged or not supported
 */
export async function speculation(
  options: Options<
    'speculative' | 'speculativeTokens' | 'draftModel' | 'kvCacheDtype' | 'modelRepository'
  >,
  choice: Pick<PrecisionChoice, 'precision' | 'activationDtype'> &
    Pick<KernelChoice, 'nativeKernels'>,
  device: DeviceOptions,
  { vocabSize }: Pick<DecoderManifest, 'vocabSize'>,
): Promise<SpeculativeOptions | null> {
  const { speculative, speculativeTokens: maxTokens, draftModel, kvCacheDtype } = options;
  if (speculative === 'draft' && draftModel === undefined) {
    throw new UsageError('--speculative draft needs a --draft-model');
  }
  if (draftModel !== undefined && !['auto', 'draft'].includes(speculative)) {
    throw new UsageError(
      `--draft-model is not used with --speculative ${speculative}: leave it out`,
    );
  }
  const { precision } = choice;
  const hasExactWeights = precision === 'fp32' || precision === 'fp16';
  const hasExactCache = kvCacheDtype !== 'int8';
  const isExact =
    device.name === 'cpu' &&
    (choice.nativeKernels !== undefined || (hasExactWeights && hasExactCache));
  const isWanted =
    speculative === 'auto' ? isExact || draftModel !== undefined : speculative !== 'off';
  if (!isWanted) return null;
  if (speculative === 'mtp') return { draftModel: null, predicts: true, maxTokens };
  if (draftModel === undefined) return { draftModel: null, maxTokens };
  // If an export has no graph in that precision, the error comes when its graph is made.
  const { path, config, kind } = await inspectModelFolder(
    await localModelFolder(
      (await findModel(draftModel, options.modelRepository)).source,
      async ({ variants }) => {
        const [any] = variants;
        return variants.find((variant) => variant.precision === precision) ?? any ?? { file: '' };
      },
    ),
  );
  if (config.vocabSize !== vocabSize) {
    throw new UsageError(
      `the draft model has ${config.vocabSize} tokens and the model ${vocabSize}: ` +
        'a draft model must have the same tokenizer',
    );
  }
  const source = { kind: 'folder', path } as const;
  const nativeKernels = kind === 'export' ? undefined : choice.nativeKernels;
  const draftChoice = { ...choice, nativeKernels };
  return { draftModel: await buildWithProgress(source, draftChoice, kvCacheDtype), maxTokens };
}
