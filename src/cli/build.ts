import { Command } from 'commander';
import { dirname } from 'node:path';
import { buildWithProgress } from './build-model.ts';
import { chooseDevice, DEVICE_OPTIONS } from './device.ts';
import { chooseModel } from './model-source.ts';
import { resolveKernels } from './kernels.ts';
import { addOptions, readOptions } from './options.ts';
import { resolvePrecision } from './precision.ts';

const NAMES = [
  'model',
  'adapter',
  ...DEVICE_OPTIONS,
  'precision',
  'maxModelLen',
  'kvCacheDtype',
  'kernels',
  'randomWeights',
] as const;

/** `chairlift build`: makes the ONNX graph ahead of the first `serve`. */
export function buildCommand(): Command {
  const command = new Command('build').description(
    'build the ONNX graph of a model into the cache, and print where it is',
  );
  return addOptions(command, NAMES).action(async () => {
    const options = readOptions<(typeof NAMES)[number]>(command);
    const { source, decoder } = await chooseModel(options, (config) =>
      chooseDevice(options, config),
    );
    const device = await chooseDevice(options, decoder.config);
    const choice = resolvePrecision(options.precision, device, decoder);
    const kernels = await resolveKernels(options, {
      ...choice,
      model: decoder.kind,
      device: device.device.name,
    });
    const { graphPath, manifest } = await buildWithProgress(
      source,
      { ...choice, ...kernels, maxModelLen: options.maxModelLen },
      options.kvCacheDtype,
    );
    const millions = (manifest.numParameters / 1e6).toFixed(1);
    console.log(
      `${manifest.family}, ${millions}M parameters, ${manifest.precision}, kernels ${manifest.kernels}, KV cache ${manifest.kvCacheDtype}`,
    );
    console.log(dirname(graphPath));
  });
}
