/** What the registry knows of a model before it is loaded. */

export interface ModelDefinition {
  /** What clients call it. */
  readonly name: string;
  /** A whole number as text; `1` where the model has no versions. */
  readonly version: string;
  /** What `--model` takes: a folder, `hf:owner/name` or a preset. */
  readonly source: string;
  /** Serve flags of this model alone, by name; they come before the command line's. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Engine processes. */
  readonly instances: number;
  /** Loaded at start. */
  readonly preload: boolean;
  /** Milliseconds that it stays loaded without requests, Infinity for always; null is the server's. */
  readonly keepAliveMs: number | null;
  /** Changes when the model's files do: then it is loaded anew. */
  readonly fingerprint: string;
}

/** Such as `summit@1`: what tells the versions of a model apart. */
export function keyOf({ name, version }: Pick<ModelDefinition, 'name' | 'version'>): string {
  return `${name}@${version}`;
}

/** Newest first. */
export function byVersion(
  a: Pick<ModelDefinition, 'version'>,
  b: Pick<ModelDefinition, 'version'>,
): number {
  return Number(b.version) - Number(a.version);
}
