import { dirname } from 'node:path';
import {
  compareWeights as compareMatrices,
  type MatrixChange,
} from '../../model/compare/compare-weights.ts';
import { buildWithProgress } from '../../serving/loading/build-model.ts';
import { tuneBuild } from './build-tuning.ts';
import { chooseDevice, gpuOf } from '../../serving/choices/device.ts';
import { chooseModel } from '../../serving/models/model-source.ts';
import { resolveKernels } from '../../serving/choices/kernels.ts';
import { cpuSpeed, resolvePrecision } from '../../serving/choices/precision.ts';
import { withProgressBar } from '../../serving/progress/progress-bar.ts';
import type { Settings } from '../../settings/settings.ts';
import { calibrationFile } from '../../serving/plan/static-calibration.ts';
import { UsageError } from '../../settings/usage-error.ts';
import { describeConstantScales, summaryOfChanges, tableOfErrors } from './weight-report.ts';

/** `chairlift build`: makes the ONNX graph ahead of the first `serve`. */
export async function build({ options }: Settings<'build'>): Promise<void> {
  const { compareWeights: compare, json, autotune } = options;
  const chosen = await chooseModel(options, (config) => chooseDevice(options, config));
  const { source, decoder } = chosen;
  if (compare && decoder.kind === 'export') {
    throw new UsageError('--compare needs a model in safetensors or GGUF, not an ONNX export');
  }
  const device = await chooseDevice(options, decoder.config);
  if (autotune && gpuOf(device)) {
    throw new UsageError(`--autotune needs --device cpu, not ${device.device.name}`);
  }
  const choice = resolvePrecision(options.precision, device, decoder, cpuSpeed(options.kernels));
  const kernels = await resolveKernels(options, {
    ...choice,
    model: decoder.kind,
    device: device.device.name,
  });
  if (compare && choice.precision === 'int8-static') {
    throw new UsageError(
      '--compare does not work with int8-static, which smooths weights before it rounds them',
    );
  }
  const { maxModelLen } = options;
  const calibrate = calibrationFile(options.calibrate, [choice.precision], chosen.text);
  const model = await buildWithProgress(
    source,
    { ...choice, ...kernels, maxModelLen, calibrate },
    options.kvCacheDtype,
  );
  const { graphPath, manifest } = model;
  let changes: readonly MatrixChange[] = [];
  if (decoder.kind !== 'export') {
    changes = await withProgressBar('comparing the weights', (onProgress) =>
      compareMatrices(source, model, { withErrors: compare, maxModelLen, onProgress }),
    );
  }
  const tuned = autotune ? await tuneBuild(chosen, model, choice, { ...options, calibrate }) : null;
  const folder = dirname(graphPath);
  if (json) {
    const tuning = tuned && { tuning: tuned.settings };
    console.log(JSON.stringify({ folder, manifest, matrices: changes, ...tuning }, null, 2));
    return;
  }
  const millions = (manifest.numParameters / 1e6).toFixed(1);
  console.log(
    `${manifest.family}, ${millions}M parameters, ${manifest.precision}, kernels ${manifest.kernels}, KV cache ${manifest.kvCacheDtype}`,
  );
  const { constantScales } = manifest;
  if (constantScales) console.log(describeConstantScales(constantScales));
  if (changes.length > 0) console.log(summaryOfChanges(changes));
  if (compare) console.log(tableOfErrors(changes));
  if (tuned) console.log(tuned.report);
  console.log(folder);
}
