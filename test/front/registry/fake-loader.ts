import type { Runtime } from '../../../src/front/registry/loaded-model.ts';
import type { ModelDefinition } from '../../../src/front/registry/model-definition.ts';
import type { ModelLoader } from '../../../src/front/registry/residency.ts';

export class FakeRuntime implements Runtime {
  readonly definition: ModelDefinition;
  readonly memoryBytes: number;
  isStopped = false;

  constructor(definition: ModelDefinition, memoryBytes: number) {
    this.definition = definition;
    this.memoryBytes = memoryBytes;
  }

  stop(): Promise<void> {
    this.isStopped = true;
    return Promise.resolve();
  }
}

/** Models load when a test says so, if it holds them. */
export class FakeLoader implements ModelLoader<FakeRuntime> {
  readonly runtimes: FakeRuntime[] = [];
  readonly #held = new Map<string, (failure: string | null) => void>();
  isHolding = false;

  estimate({ flags }: ModelDefinition): Promise<number> {
    return Promise.resolve(Number(flags['bytes'] ?? 10));
  }

  async load(definition: ModelDefinition): Promise<FakeRuntime> {
    const { name, version } = definition;
    const failure = this.isHolding
      ? await new Promise<string | null>((resolve) => this.#held.set(`${name}@${version}`, resolve))
      : definition.flags['failure'];
    if (typeof failure === 'string') throw new Error(failure);
    const runtime = new FakeRuntime(definition, await this.estimate(definition));
    this.runtimes.push(runtime);
    return runtime;
  }

  /** Ends a load that is held. */
  async settle(key: string, failure: string | null = null): Promise<void> {
    while (!this.#held.has(key)) await new Promise(setImmediate);
    this.#held.get(key)?.(failure);
    this.#held.delete(key);
  }

  get inMemory(): readonly string[] {
    return this.runtimes
      .filter(({ isStopped }) => !isStopped)
      .map(({ definition: { name, version } }) => `${name}@${version}`)
      .toSorted();
  }
}

export function modelDefinition(
  name: string,
  flags: ModelDefinition['flags'] = {},
  changes: Partial<ModelDefinition> = {},
): ModelDefinition {
  return {
    name,
    version: '1',
    source: name,
    flags,
    instances: 1,
    preload: false,
    keepAliveMs: null,
    fingerprint: '',
    problem: null,
    ...changes,
  };
}
