import type { EventFields } from './output-items.ts';

/** What a stream of a response tells. */
export type ResponseEvent = EventFields & { readonly sequence_number: number };
