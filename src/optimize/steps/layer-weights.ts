import { layerTensorNames, type LayerTensorNames } from '../../model/families/family.ts';
import { layerMatrices } from '../../model/graph/layer-matrices.ts';
import type { LinearName } from '../calibration/text-graphs.ts';
import type { Checkpoint } from '../folder/checkpoint.ts';
import { layerTensors } from '../folder/model-tensors.ts';

/** A matrix of a layer, or several in one tensor. */
export interface LayerMatrix {
  readonly name: string;
  readonly rows: number;
  readonly columns: number;
  readonly weights: Float32Array;
}

/** The weights of one layer of a checkpoint. */
export class LayerWeights {
  readonly names: LayerTensorNames;
  readonly layer: number;
  readonly #source: Checkpoint;
  readonly #shapes: ReadonlyMap<string, readonly number[]>;

  constructor(source: Checkpoint, layer: number) {
    const tensors = layerTensors(source.config, layer);
    this.names = layerTensorNames(source.config.family, layer);
    this.#source = source;
    this.layer = layer;
    this.#shapes = new Map(tensors.map(({ name, shape }) => [name, shape]));
  }

  has(name: string): boolean {
    return this.#shapes.has(name);
  }

  /** @throws {RangeError} if the layer has no such tensor */
  get(name: string): Promise<Float32Array> {
    const shape = this.#shapes.get(name);
    if (shape === undefined) throw new RangeError(`layer ${this.layer} has no "${name}"`);
    return this.#source.weights.get(name, shape);
  }

  /** The matrices that read the same value. */
  async matrices(linear: LinearName): Promise<LayerMatrix[]> {
    const found = layerMatrices(this.#source.config, this.layer).find(
      ({ name }) => name === `layers.${this.layer}.${linear}`,
    );
    if (found === undefined) throw new RangeError(`layer ${this.layer} has no ${linear}`);
    const { tensors, columns } = found;
    return Promise.all(
      tensors.map(async ({ name, rows }) => ({
        name,
        rows,
        columns,
        weights: await this.get(name),
      })),
    );
  }
}
