/** An image in memory: rows of red, green and blue, a byte each. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

export const CHANNELS = 3;

/** Red, green and blue. */
export type Color = readonly [number, number, number];
