/** From the tokens of a window to segments, and to where the next window begins; as openai-whisper has it. */

/** Seconds of a step of timestamps, and its frames. */
const STEP_SECONDS = 0.02;
const STEP_FRAMES = 2;

export interface WindowSegment {
  /** Seconds since the window began. */
  readonly start: number;
  readonly end: number;
  /** Timestamps included. */
  readonly tokens: readonly number[];
}

export interface SplitWindow {
  readonly segments: readonly WindowSegment[];
  /** Frames of 10 ms until the next window. */
  readonly advance: number;
}

/**
 * @param tokens without `<|endoftext|>`
 * @param firstTimestamp id of `<|0.00|>`
 * @param frames of the window that have sound
 */
export function splitWindow(
  tokens: readonly number[],
  firstTimestamp: number,
  frames: number,
): SplitWindow {
  const stepOf = (token: number) => token - firstTimestamp;
  const isTime = (token: number | undefined) => token !== undefined && token >= firstTimestamp;
  const cuts = tokens.flatMap((token, at) => (isTime(token) && isTime(tokens[at - 1]) ? [at] : []));
  if (cuts.length === 0) {
    const last = tokens.findLast(isTime);
    const steps = last === undefined || last === firstTimestamp ? null : stepOf(last);
    const end = (steps ?? Math.floor(frames / STEP_FRAMES)) * STEP_SECONDS;
    return { segments: [{ start: 0, end, tokens }], advance: frames };
  }
  // One timestamp at the end says that nobody speaks after it.
  const endsInOne = isTime(tokens.at(-1)) && !isTime(tokens.at(-2));
  if (endsInOne) cuts.push(tokens.length);
  const segments = cuts.map((cut, index) => {
    const part = tokens.slice(cuts[index - 1] ?? 0, cut);
    const [first = firstTimestamp] = part;
    const last = part.at(-1) ?? first;
    return { start: stepOf(first) * STEP_SECONDS, end: stepOf(last) * STEP_SECONDS, tokens: part };
  });
  if (endsInOne) return { segments, advance: frames };
  const lastStep = stepOf(tokens[(cuts.at(-1) ?? 1) - 1] ?? firstTimestamp);
  return { segments, advance: lastStep * STEP_FRAMES };
}
