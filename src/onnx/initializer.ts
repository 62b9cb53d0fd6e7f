import { elementTypeInfo, type ElementType } from './data-type.ts';

/** A typed array's bytes, or a function that makes them when they are written. */
export type InitializerData = ArrayBufferView | (() => Promise<ArrayBufferView>);

/** A constant tensor of a graph. */
export interface Initializer {
  readonly name: string;
  readonly type: ElementType;
  readonly dims: readonly number[];
  readonly data: InitializerData;
  /** Called when its bytes were used: what they were made in may be overwritten. */
  readonly onUsed?: (() => void) | undefined;
}

/** Size of an initializer in bytes, from its type and shape. */
export function initializerByteLength({ type, dims }: Initializer): number {
  return dims.reduce((product, dim) => product * dim, elementTypeInfo(type).bytes);
}

/**
 * The bytes of an initializer, computed now if they were deferred.
 * @throws {RangeError} if they do not fill the declared shape exactly
 */
export async function initializerBytes(initializer: Initializer): Promise<Uint8Array> {
  const { data } = initializer;
  return checkedBytes(initializer, typeof data === 'function' ? await data() : data);
}

/** A view of the bytes of `data`, checked against the initializer's type and shape. */
export function checkedBytes(initializer: Initializer, data: ArrayBufferView): Uint8Array {
  const expected = initializerByteLength(initializer);
  if (data.byteLength !== expected) {
    throw new RangeError(
      `initializer "${initializer.name}" (${initializer.type} [${initializer.dims.join(', ')}]) ` +
        `takes ${expected} bytes, but was given ${data.byteLength}`,
    );
  }
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/**
 * The bytes of initializers, in order, each until the next is asked for. While one is waited for or used, those
 * after it are being made, of up to `bytesAhead` bytes.
 */
export async function* madeInOrder(
  initializers: readonly Initializer[],
  bytesAhead: number,
): AsyncGenerator<{ readonly initializer: Initializer; readonly bytes: Uint8Array }, void> {
  const begun: { readonly size: number; readonly bytes: Promise<Uint8Array> }[] = [];
  let ahead = 0;
  let next = 0;
  const begin = (initializer: Initializer, size: number) => {
    const bytes = initializerBytes(initializer);
    // If one before it fails, nobody waits for it.
    bytes.catch(() => {});
    begun.push({ size, bytes });
    ahead += size;
    next++;
  };
  for (const initializer of initializers) {
    if (begun.length === 0) begin(initializer, 0);
    for (let more = initializers[next]; more !== undefined; more = initializers[next]) {
      const size = initializerByteLength(more);
      if (ahead + size > bytesAhead) break;
      begin(more, size);
    }
    const first = begun.shift();
    if (first === undefined) break;
    yield { initializer, bytes: await first.bytes };
    initializer.onUsed?.();
    ahead -= first.size;
  }
}
