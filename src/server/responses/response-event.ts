import type { EventFields } from './output-items.ts';

/** Event in the stream of a response. */
export type ResponseEvent = EventFields & { readonly sequence_number: number };
