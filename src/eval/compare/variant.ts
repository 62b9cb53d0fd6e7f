import { PRECISIONS, type Precision } from '../../model/manifest.ts';

/** One thing to compare: a model, as `--model` names it, in a precision. */
export interface Variant {
  /** As it was given. */
  readonly name: string;
  readonly model: string;
  readonly precision: Precision | 'auto';
}

/** `MODEL` or `MODEL:precision`. Other texts with a colon, as `hf:owner/name`, are all model. */
export function parseVariant(name: string): Variant {
  const colon = name.lastIndexOf(':');
  const precision = PRECISIONS.find((known) => known === name.slice(colon + 1));
  if (colon < 1 || precision === undefined) return { name, model: name, precision: 'auto' };
  return { name, model: name.slice(0, colon), precision };
}
