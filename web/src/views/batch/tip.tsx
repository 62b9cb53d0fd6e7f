import type { BatchSession } from './session.ts';
import { describeCursor } from './words.ts';

/** Where there is no room for it on the left, it is on the right; in CSS pixels. */
const WIDTH = 320;

interface TipProps {
  readonly session: BatchSession;
  readonly at: { readonly x: number; readonly y: number };
}

/** Describes what is under the pointer. */
export function Tip({ session, at }: TipProps) {
  void session.panels.value;
  if (session.cursor.value === null || session.column === undefined) return null;
  return (
    <p
      class={at.x < WIDTH ? 'batch-tip right' : 'batch-tip'}
      style={{ left: `${at.x}px`, top: `${at.y}px` }}
      aria-hidden="true"
    >
      {describeCursor(session)}
    </p>
  );
}
