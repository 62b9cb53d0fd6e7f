/** Bodies of operators' requests about adapters, as in vLLM. */
import { z } from 'zod';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { boundedList } from './bounded-list.ts';
import { shortText } from './fields.ts';

/** Valid name of an adapter, and also of a model. */
const name = shortText.regex(/^[\w][\w.:/-]*$/, 'expected letters, digits and . _ : / -');

/** The body of /v1/load_lora_adapter. */
export const loadAdapterBody = z.looseObject({
  lora_name: name,
  lora_path: shortText.min(1),
  /** Its model, where there are several that it may be for. */
  base_model_name: shortText.min(1).nullish(),
});

/** The body of /v1/unload_lora_adapter. */
export const unloadAdapterBody = z.looseObject({ lora_name: name });

/** How far an adapter's scale may be from none. */
const MOST_SCALE = 100;

/** A request's `lora`: those that are left out have scale 0. */
export const loraField = boundedList(
  z.looseObject({ id: z.int().min(0), scale: z.number().min(-MOST_SCALE).max(MOST_SCALE) }),
  MODEL_LIMITS.adapters,
);
