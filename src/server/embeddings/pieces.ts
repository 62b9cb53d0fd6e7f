/** JSON that is written piece by piece, so that others get their turn in between. */

/** A list of what is written piece by piece itself. */
export function* listJson(items: readonly Iterable<string>[]): Generator<string, void> {
  yield '[';
  for (const [index, pieces] of items.entries()) {
    if (index > 0) yield ',';
    yield* pieces;
  }
  yield ']';
}

/** Characters that are written in a turn of the event loop, as many as some thousand numbers have. */
const PIECE_CHARACTERS = 40_000;

/** Small pieces together: each is written in a turn of its own. */
export function* gathered(pieces: Iterable<string>): Generator<string, void> {
  let gathering = '';
  for (const piece of pieces) {
    gathering += piece;
    if (gathering.length < PIECE_CHARACTERS) continue;
    yield gathering;
    gathering = '';
  }
  yield gathering;
}
