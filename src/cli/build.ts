import { Command } from 'commander';
import { dirname } from 'node:path';
import { compareWeights, type MatrixChange } from '../model/compare/compare-weights.ts';
import { buildWithProgress } from './build-model.ts';
import { tuneBuild } from './build-tuning.ts';
import { chooseDevice, DEVICE_OPTIONS, gpuOf } from './device.ts';
import { chooseModel } from './model-source.ts';
import { resolveKernels } from './kernels.ts';
import { addOptions, readOptions } from './options.ts';
import { cpuSpeed, resolvePrecision } from './precision.ts';
import { withProgressBar } from './progress-bar.ts';
import { calibrationFile } from './static-calibration.ts';
import { UsageError } from './usage-error.ts';
import { describeConstantScales, summaryOfChanges, tableOfErrors } from './weight-report.ts';

const NAMES = [
  'model',
  'adapter',
  ...DEVICE_OPTIONS,
  'precision',
  'calibrate',
  'maxModelLen',
  'kvCacheDtype',
  'kernels',
  'randomWeights',
  'threads',
] as const;

interface ReportOptions {
  readonly compare?: boolean;
  readonly json?: boolean;
  readonly autotune?: boolean;
}

/** `chairlift build`: makes the ONNX graph ahead of the first `serve`. */
export function buildCommand(): Command {
  const command = new Command('build')
    .description('build the ONNX graph of a model into the cache, and print where it is')
    .option('--compare', 'compare the weights of the build with those of the checkpoint')
    .option('--json', 'print all of it as JSON, a matrix at a time')
    .option(
      '--autotune',
      'measure on this machine which kernels, threads and step size are fastest; serve takes them (CPU; minutes)',
    );
  return addOptions(command, NAMES).action(() => build(command));
}

async function build(command: Command): Promise<void> {
  const options = readOptions<(typeof NAMES)[number]>(command);
  const { compare = false, json = false, autotune = false } = command.opts<ReportOptions>();
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
      '--compare says nothing of int8-static: it smooths weights before it rounds',
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
      compareWeights(source, model, { withErrors: compare, maxModelLen, onProgress }),
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
