/** Fast Fourier transform of a length with small factors, after Stockham. */

interface Stage {
  readonly radix: number;
  /** Transforms that are left, and how many samples lie between theirs. */
  readonly groups: number;
  readonly stride: number;
  /** For each group `radix` rows of `radix` factors, real and imaginary parts. */
  readonly real: Float64Array;
  readonly imaginary: Float64Array;
}

/** Transforms of one length; works in place, and keeps memory for it. */
export class Fourier {
  readonly #stages: readonly Stage[];
  readonly #real: Float64Array;
  readonly #imaginary: Float64Array;

  /** @param radices whose product is the length, an even number of them */
  constructor(radices: readonly number[]) {
    const length = radices.reduce((product, radix) => product * radix, 1);
    this.#real = new Float64Array(length);
    this.#imaginary = new Float64Array(length);
    let left = length;
    this.#stages = radices.map((radix) => {
      const stage = stageOf(radix, left, length / left);
      left /= radix;
      return stage;
    });
  }

  /** Replaces samples by their transform. */
  transform(real: Float64Array, imaginary: Float64Array): void {
    let from = [real, imaginary] as const;
    let to = [this.#real, this.#imaginary] as const;
    for (const stage of this.#stages) {
      runStage(stage, from, to);
      [from, to] = [to, from];
    }
  }
}

type Complex = readonly [real: Float64Array, imaginary: Float64Array];

function stageOf(radix: number, left: number, stride: number): Stage {
  const groups = left / radix;
  const real = new Float64Array(groups * radix * radix);
  const imaginary = new Float64Array(real.length);
  let at = 0;
  for (let group = 0; group < groups; group++) {
    for (let out = 0; out < radix; out++) {
      for (let tap = 0; tap < radix; tap++, at++) {
        const turn = (((tap * out) % radix) / radix + (group * out) / left) * -2 * Math.PI;
        real[at] = Math.cos(turn);
        imaginary[at] = Math.sin(turn);
      }
    }
  }
  return { radix, groups, stride, real, imaginary };
}

function runStage(
  { radix, groups, stride, real, imaginary }: Stage,
  [fromReal, fromImaginary]: Complex,
  [toReal, toImaginary]: Complex,
): void {
  for (let group = 0; group < groups; group++) {
    for (let out = 0; out < radix; out++) {
      const row = (group * radix + out) * radix;
      for (let q = 0; q < stride; q++) {
        let sumReal = 0;
        let sumImaginary = 0;
        for (let tap = 0; tap < radix; tap++) {
          const at = q + stride * (group + groups * tap);
          const a = fromReal[at]!;
          const b = fromImaginary[at]!;
          const c = real[row + tap]!;
          const d = imaginary[row + tap]!;
          sumReal += a * c - b * d;
          sumImaginary += a * d + b * c;
        }
        const at = q + stride * (radix * group + out);
        toReal[at] = sumReal;
        toImaginary[at] = sumImaginary;
      }
    }
  }
}
