import type { Pointer } from './api.ts';
import type { ElementType } from './element-type.ts';

/** An input or output of a graph. */
export interface ValueInfo {
  readonly name: string;
  /** `undefined` for element types that we don't handle. */
  readonly type: ElementType | 'string' | undefined;
  /** A number, or the name of a symbolic dimension ('' when it has none). */
  readonly shape: readonly (number | string)[];
}

/** A session as seen by those that bind its values and allocate their memory. */
export interface LoadedGraph {
  /** Pointer of the session. */
  readonly pointer: Pointer;
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
}
