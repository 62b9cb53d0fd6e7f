/** What operators ask of adapters, as in vLLM. */
import { z } from 'zod';
import { shortText } from './fields.ts';

/** What a model may be called, too. */
const name = shortText.regex(/^[\w][\w.:/-]*$/, 'expected letters, digits and . _ : / -');

/** The body of /v1/load_lora_adapter. */
export const loadAdapterBody = z.looseObject({ lora_name: name, lora_path: shortText.min(1) });

/** The body of /v1/unload_lora_adapter. */
export const unloadAdapterBody = z.looseObject({ lora_name: name });
