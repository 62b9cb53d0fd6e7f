import type { ModelDefinition } from '../../front/registry/model-definition.ts';
import type { ModelLoad } from '../../front/registry/model-entry.ts';
import type { ModelLoader } from '../../front/registry/residency.ts';
import type { AnyRuntime } from '../../server/runtimes.ts';
import { type EncoderLoader, kindOf } from './encoder-loader.ts';
import type { LoadedText, TextModelLoader } from './text-model-loader.ts';

export type LoadedModel = LoadedText | Exclude<AnyRuntime, { readonly kind: 'text' }>;

/** Loads each model as what its folder says it is. */
export class AnyModelLoader implements ModelLoader<LoadedModel> {
  readonly #text: TextModelLoader;
  readonly #encoders: EncoderLoader;

  constructor(text: TextModelLoader, encoders: EncoderLoader) {
    this.#text = text;
    this.#encoders = encoders;
  }

  async estimate(definition: ModelDefinition): Promise<number> {
    return (await this.#for(definition)).estimate(definition);
  }

  async load(
    definition: ModelDefinition,
    onState: (state: ModelLoad['state']) => void,
  ): Promise<LoadedModel> {
    return (await this.#for(definition)).load(definition, onState);
  }

  async #for({ source }: ModelDefinition): Promise<ModelLoader<LoadedModel>> {
    return (await kindOf(source)) === 'text' ? this.#text : this.#encoders;
  }
}
