/** How the pad generates. */
export interface PadSettings {
  readonly maxTokens: number;
  readonly temperature: number;
  readonly topP: number;
  /** '' draws anew each time. */
  readonly seed: string;
  /** A stop sequence on each line; `\n` is a line break. */
  readonly stop: string;
  readonly alternatives: number;
  readonly echo: boolean;
}

export const DEFAULT_PAD: PadSettings = {
  maxTokens: 128,
  temperature: 0.8,
  topP: 1,
  seed: '',
  stop: '',
  alternatives: 8,
  echo: false,
};

/** Sequences, of which there may be 16. */
export function stopSequences(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replaceAll(/\\([nt\\])/g, (_, letter: string) => ESCAPES[letter] ?? ''));
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', '\\': '\\' };

export function toFields(settings: PadSettings) {
  const stop = stopSequences(settings.stop);
  const seed = Number(settings.seed);
  return {
    max_tokens: settings.maxTokens,
    temperature: settings.temperature,
    top_p: settings.topP,
    logprobs: settings.alternatives,
    ...(settings.seed === '' || !Number.isInteger(seed) ? {} : { seed }),
    ...(stop.length === 0 ? {} : { stop }),
  };
}
