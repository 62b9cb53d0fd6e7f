import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from '../../files/durable.ts';
import { fileExists } from '../../files/file-exists.ts';
import type { DecoderConfig } from '../../model/huggingface/config.ts';
import { SafetensorsWeights, SINGLE_FILE } from '../../model/huggingface/safetensors.ts';
import type { Checkpoint } from './checkpoint.ts';
import { outerTensors, type TensorShape } from './model-tensors.ts';
import { type DeferredTensor, storedFloats, writeSafetensors } from './safetensors-file.ts';
import { makeFolder } from '../../files/make-folder.ts';

/** Where it is kept what a step decided. @param path of its folder */
export function factsPath(path: string): string {
  return `${path}.facts.json`;
}

/**
 * The result of a step: a folder with config.json and weights, which is there when the step is done. Until
 * then each finished layer is a file next to it, so that the step can go on after a crash.
 */
export class StepFolder {
  /** Path of the result. */
  readonly path: string;
  readonly #layers: string;

  private constructor(path: string) {
    this.path = path;
    this.#layers = `${path}.layers`;
  }

  static async open(path: string): Promise<StepFolder> {
    const folder = new StepFolder(path);
    await makeFolder(folder.#layers);
    return folder;
  }

  layerPath(layer: number): string {
    return join(this.#layers, `${layer}.safetensors`);
  }

  hasLayer(layer: number): Promise<boolean> {
    return fileExists(this.layerPath(layer));
  }

  async writeLayer(layer: number, tensors: readonly DeferredTensor[]): Promise<void> {
    await writeSafetensors(this.layerPath(layer), tensors);
  }

  /** Makes the result of the layers, and of what the checkpoint has around them. */
  async finish(source: Checkpoint, { json, config, facts }: FinishedStep): Promise<void> {
    const unfinished = `${this.path}.unfinished`;
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(unfinished);
    const { before, after } = outerTensors(config);
    const copied = (tensors: readonly TensorShape[]) =>
      tensors.map(({ name, shape }) => copyOf(source, name, shape));
    const layers: SafetensorsWeights[] = [];
    try {
      for (let layer = 0; layer < config.numLayers; layer++) {
        layers.push(await SafetensorsWeights.open([this.layerPath(layer)]));
      }
      const tensors = [...copied(before), ...layers.flatMap(rawTensors), ...copied(after)];
      await writeSafetensors(join(unfinished, SINGLE_FILE), tensors);
    } finally {
      for (const layer of layers) await layer.close();
    }
    const text = `${JSON.stringify(json, null, 2)}\n`;
    await writeFile(join(unfinished, 'config.json'), text, { flush: true });
    await writeDurably(factsPath(this.path), JSON.stringify(facts));
    await rename(unfinished, this.path);
    await rm(this.#layers, { recursive: true, force: true });
  }
}

/** Results of a step in addition to the weights. */
export interface FinishedStep {
  /** config.json */
  readonly json: Readonly<Record<string, unknown>>;
  readonly config: DecoderConfig;
  /** Decisions of the step, for optimization.json. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** A tensor as the checkpoint has it, in the same type. */
export function copyOf(
  { weights, dtypeOf }: Checkpoint,
  name: string,
  shape: readonly number[],
): DeferredTensor {
  const dtype = dtypeOf(name);
  const load = async () => storedFloats(dtype, shape, await weights.get(name, shape)).bytes;
  return { name, dtype, shape, load };
}

function rawTensors(weights: SafetensorsWeights): DeferredTensor[] {
  return [...weights.names()].map((name) => {
    const { dtype = '', shape = [] } = weights.entry(name) ?? {};
    // As this program wrote them.
    return {
      name,
      dtype: dtype as DeferredTensor['dtype'],
      shape,
      load: () => weights.bytes(name),
    };
  });
}
