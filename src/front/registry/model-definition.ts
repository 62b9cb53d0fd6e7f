/** Facts of a model that are known before it is loaded. */
import type { TritonConfig } from '../tensors/triton-config.ts';
import type { ImageConfig } from '../images/image-config.ts';

export interface ModelKey {
  /** Name that clients use. */
  readonly name: string;
  /** A whole number as text; `1` where the model has no versions. */
  readonly version: string;
}

export interface ModelDefinition extends ModelKey {
  /** Value for `--model`: a folder, `hf:owner/name` or a preset. */
  readonly source: string;
  /** Flags of `serve` for this model, by their names without dashes; they go before the command line's. */
  readonly flags: Readonly<Record<string, string | number | boolean>>;
  /** How requests are batched, of a model without state. */
  readonly triton?: TritonConfig;
  /** How a model of tensors takes images, with the path of its labels; null or left out for one that takes none. */
  readonly image?: ImageConfig | null;
  /** Engine processes. */
  readonly instances: number;
  /** Loaded at start. */
  readonly preload: boolean;
  /** Milliseconds that it stays loaded without requests, Infinity for always; null is the server's. */
  readonly keepAliveMs: number | null;
  /** Changes when the model's files do: then it is loaded anew. */
  readonly fingerprint: string;
  /** Why it can't be loaded, if that is known already. */
  readonly problem: string | null;
}

/** Key of a model's version, such as `summit@1`. */
export function keyOf({ name, version }: ModelKey): string {
  return `${name}@${version}`;
}

/** Newest first. */
export function byVersion(
  a: Pick<ModelDefinition, 'version'>,
  b: Pick<ModelDefinition, 'version'>,
): number {
  return Number(b.version) - Number(a.version);
}
