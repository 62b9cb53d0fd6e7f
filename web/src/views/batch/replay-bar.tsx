import type { BatchSession } from './session.ts';

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 16, 64] as const;

/** Where a recording is, and how fast it is played. */
export function ReplayBar({ session }: { readonly session: BatchSession }) {
  void session.panels.value;
  const replay = session.replay.value;
  if (replay === null) return null;
  return (
    <div class="batch-replay">
      <label class="batch-scrub">
        <span class="numbers">
          Step {replay.numShown} of {replay.numSteps}
        </span>
        <input
          type="range"
          min={1}
          max={replay.numSteps}
          value={replay.numShown}
          onInput={(event) => {
            replay.isPlaying = false;
            session.seek(Number(event.currentTarget.value));
          }}
        />
      </label>
      <label>
        Speed
        <select
          value={replay.speed}
          onChange={(event) => {
            replay.speed = Number(event.currentTarget.value);
            session.panels.value++;
          }}
        >
          {SPEEDS.map((speed) => (
            <option key={speed} value={speed}>
              {speed}×
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}
