/** The frames of a socket that are shown: the last ones. */
export interface LoggedFrame {
  readonly id: number;
  readonly from: 'you' | 'server' | 'socket';
  readonly text: string;
  /** Milliseconds since the socket was asked for. */
  readonly atMs: number;
}

const MOST_FRAMES = 300;
const MOST_CHARACTERS = 5000;

export function withFrame(
  frames: readonly LoggedFrame[],
  frame: Omit<LoggedFrame, 'id'>,
): LoggedFrame[] {
  const id = (frames.at(-1)?.id ?? 0) + 1;
  const text =
    frame.text.length > MOST_CHARACTERS ? `${frame.text.slice(0, MOST_CHARACTERS)} …` : frame.text;
  return [...frames.slice(1 - MOST_FRAMES), { ...frame, text, id }];
}
