/** The models that there are, by name and version, and what else names them. */
import { type Aliases, resolveAlias } from './aliases.ts';
import { UnknownModelError } from './errors.ts';
import type { Runtime } from './loaded-model.ts';
import { byVersion } from './model-definition.ts';
import type { ModelEntry } from './model-entry.ts';
import { nearNames } from './near-names.ts';

export class ModelCatalog<R extends Runtime> {
  aliases: Aliases = new Map();
  /** By `name@version`. */
  readonly #entries = new Map<string, ModelEntry<R>>();
  /** Every request asks for it, and few change it; null when it has to be sorted anew. */
  #sorted: readonly ModelEntry<R>[] | null = null;

  get entries(): ReadonlyMap<string, ModelEntry<R>> {
    return this.#entries;
  }

  add(key: string, entry: ModelEntry<R>): void {
    this.#entries.set(key, entry);
    this.#sorted = null;
  }

  remove(key: string): void {
    this.#entries.delete(key);
    this.#sorted = null;
  }

  /** In order of name; newest version first. */
  sorted(): readonly ModelEntry<R>[] {
    this.#sorted ??= [...this.#entries.values()].toSorted(
      ({ definition: a }, { definition: b }) => a.name.localeCompare(b.name) || byVersion(a, b),
    );
    return this.#sorted;
  }

  versionsOf(name: string): readonly ModelEntry<R>[] {
    return this.sorted().filter(({ definition }) => definition.name === name);
  }

  /** Aliases with the model that each mostly stands for, in order of name; those of none left out. */
  aliased(): readonly (readonly [string, ModelEntry<R>])[] {
    const names = [...this.aliases.keys()].toSorted((a, b) => a.localeCompare(b));
    return names.flatMap((name) => {
      const targets = [...(this.aliases.get(name) ?? [])].toSorted(([, a], [, b]) => b - a);
      const [target = ''] = targets[0] ?? [];
      const entry = this.entries.get(target) ?? this.versionsOf(target)[0];
      return entry === undefined ? [] : [[name, entry] as const];
    });
  }

  /**
   * A version by its key; of a model the newest that is loaded, or else that did not fail.
   * @param name null for the first that is loaded or being loaded, or else the first of all
   * @param user whose request it is, for aliases that stand for several models
   * @throws UnknownModelError
   */
  resolve(name: string | null, user: string): ModelEntry<R> {
    const wanted = resolveAlias(this.aliases, name ?? this.#defaultName(), user);
    const versions = this.versionsOf(wanted);
    const entry =
      versions.find(({ loaded }) => loaded !== null) ??
      versions.find(({ failure }) => failure === null) ??
      versions[0] ??
      this.entries.get(wanted);
    if (entry) return entry;
    const names = this.sorted().map(({ definition }) => definition.name);
    throw new UnknownModelError(wanted, nearNames(wanted, [...this.aliases.keys(), ...names]));
  }

  /** In the order in which they were given, so that a server's default stays the same. */
  #defaultName(): string {
    const all = [...this.#entries.values()];
    const first = all.find(({ loaded, loading }) => loaded !== null || loading !== null) ?? all[0];
    return first?.definition.name ?? '';
  }
}
