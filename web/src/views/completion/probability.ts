/** How likely a token was, as a color and as a number. */

/** Below which probabilities each level begins; 0 is what was all but certain. */
const LEVELS = [0.9, 0.6, 0.3, 0.1, 0.02, 0.001] as const;

export const NUM_LEVELS = LEVELS.length + 1;

export function levelOf(logprob: number): number {
  const probability = Math.exp(logprob);
  const level = LEVELS.findIndex((least) => probability >= least);
  return level < 0 ? LEVELS.length : level;
}

/** Such as `93%`, `0.4%` and `< 0.01%`. */
export function formatProbability(logprob: number): string {
  const percent = Math.exp(logprob) * 100;
  if (percent < 0.01) return '< 0.01%';
  if (percent < 1) return `${percent.toFixed(2)}%`;
  return percent < 10 ? `${percent.toFixed(1)}%` : `${Math.round(percent)}%`;
}

/** White space that can be seen. */
export function visible(text: string): string {
  return text.replaceAll(' ', '␣').replaceAll('\n', '⏎').replaceAll('\t', '⇥') || '∅';
}
