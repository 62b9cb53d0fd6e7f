import * as fc from 'fast-check';

/** Matrices of up to three rows, with the number of their columns. */
export function drawnMatrix(maxColumns: number) {
  return fc
    .record({
      rows: fc.integer({ min: 1, max: 3 }),
      columns: fc.integer({ min: 1, max: maxColumns }),
    })
    .chain(({ rows, columns }) =>
      fc.record({
        columns: fc.constant(columns),
        values: fc
          .array(fc.float({ min: -100, max: 100, noNaN: true }), {
            minLength: rows * columns,
            maxLength: rows * columns,
          })
          .map((values) => Float32Array.from(values)),
      }),
    );
}
