/**
 * Arrays for pieces that are used one after the other: the same one each time, with whatever was in it. With arrays
 * of their own, more time goes into collecting those than into reading.
 * @param make makes a new one, where the last is too short
 */
export function reusedArray<A extends Uint8Array | Uint16Array | Float32Array>(
  make: (length: number) => A,
): (length: number) => A {
  let array = make(0);
  return (length) => {
    if (array.length < length) array = make(length);
    return array.subarray(0, length) as A;
  };
}
