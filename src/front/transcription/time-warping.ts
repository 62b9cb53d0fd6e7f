/** Dynamic time warping, as Transformers and openai-whisper have it. */
import { ownTurn } from '../../own-turn.ts';

/** Cells that are computed before other work has its turn. */
const CELLS_IN_TURN = 2 ** 18;
const DIAGONAL = 0;
const DOWN = 1;
const ACROSS = 2;

/**
 * The way from the first cell of a table to the last one, down and to the right, whose sum is the largest.
 * @param table [rows, columns], row by row
 * @returns for each row, the first column on the way
 * @throws the signal's reason on abort
 */
export async function warp(
  table: Float32Array,
  rows: number,
  columns: number,
  signal: AbortSignal,
): Promise<Int32Array> {
  const traces = new Uint8Array(rows * columns);
  let above = new Float32Array(columns + 1).fill(Infinity);
  above[0] = 0;
  let cells = CELLS_IN_TURN;
  for (let row = 0; row < rows; row++) {
    cells += columns;
    if (cells > CELLS_IN_TURN) {
      cells = columns;
      await ownTurn();
      signal.throwIfAborted();
    }
    above = nextRow(above, table.subarray(row * columns, (row + 1) * columns), traces, row);
  }
  return walkBack(traces, rows, columns);
}

/** Costs of the ways to each cell of a row; the first is that of no cell. */
function nextRow(
  above: Float32Array<ArrayBuffer>,
  values: Float32Array,
  traces: Uint8Array,
  row: number,
): Float32Array<ArrayBuffer> {
  const costs = new Float32Array(above.length);
  costs[0] = Infinity;
  for (let column = 0; column < values.length; column++) {
    const diagonal = above[column] ?? Infinity;
    const down = above[column + 1] ?? Infinity;
    const across = costs[column] ?? Infinity;
    let [least, trace] = [across, ACROSS];
    if (diagonal < down && diagonal < across) [least, trace] = [diagonal, DIAGONAL];
    else if (down < diagonal && down < across) [least, trace] = [down, DOWN];
    costs[column + 1] = least - (values[column] ?? 0);
    traces[row * values.length + column] = trace;
  }
  return costs;
}

function walkBack(traces: Uint8Array, rows: number, columns: number): Int32Array {
  const first = new Int32Array(rows);
  let [row, column] = [rows - 1, columns - 1];
  while (row >= 0) {
    first[row] = column;
    // There is one way along each edge.
    const trace = column === 0 ? DOWN : row === 0 ? ACROSS : traces[row * columns + column];
    if (trace !== ACROSS) row--;
    if (trace !== DOWN) column--;
  }
  return first;
}
