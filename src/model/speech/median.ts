import type { EncoderOps } from '../encoder/encoder-ops.ts';

const WIDTH = 7;
const HALF = 3;
/** Beyond all ends. */
const REST = 2 ** 31;

/**
 * The median of each number and the three on either side, mirrored at the ends, over the last of three axes.
 * @param value [a, b, n], n 4 at least
 */
export function emitMedian(ops: EncoderOps, value: string): string {
  const { graph } = ops;
  const pads = ops.int64s('median/pads', 0, 0, HALF, 0, 0, HALF);
  const padded = graph.node('median/padded', 'Pad', [value, pads], {
    attributes: { mode: 'reflect' },
  });
  const axis = ops.int64s('median/axis', 2);
  const lanes = Array.from({ length: WIDTH }, (_, at) => {
    const start = ops.int64s(`median/${at}/start`, at);
    const end = ops.int64s(`median/${at}/end`, at === WIDTH - 1 ? REST : at - WIDTH + 1);
    return graph.node(`median/${at}`, 'Slice', [padded, start, end, axis]);
  });
  // Neighbours are put in order until all are: as many rounds as there are lanes.
  for (let round = 0; round < WIDTH; round++) {
    for (let at = round % 2; at + 1 < WIDTH; at += 2) {
      const pair = [lanes[at] ?? '', lanes[at + 1] ?? ''];
      lanes[at] = graph.node(`median/${round}/${at}/low`, 'Min', pair);
      lanes[at + 1] = graph.node(`median/${round}/${at}/high`, 'Max', pair);
    }
  }
  return lanes[HALF] ?? '';
}
