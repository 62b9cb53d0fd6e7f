/** Filling in: the special tokens of models that can say what belongs between two texts. */
import { useEffect, useState } from 'preact/hooks';
import { tokenize } from '../../api/completions.ts';

export interface FillTokens {
  readonly prefix: string;
  readonly suffix: string;
  readonly middle: string;
}

/** Tokens of Qwen-Coder and Granite, StarCoder and SantaCoder, DeepSeek-Coder, and CodeGemma. */
const KNOWN: readonly FillTokens[] = [
  { prefix: '<|fim_prefix|>', suffix: '<|fim_suffix|>', middle: '<|fim_middle|>' },
  { prefix: '<fim_prefix>', suffix: '<fim_suffix>', middle: '<fim_middle>' },
  { prefix: '<fim-prefix>', suffix: '<fim-suffix>', middle: '<fim-middle>' },
  { prefix: '<｜fim▁begin｜>', suffix: '<｜fim▁hole｜>', middle: '<｜fim▁end｜>' },
];

/** `unknown` until the server has said; null for a model that has none. */
export type FillSupport = FillTokens | null | 'unknown';

/** Finds which of these a model has: each is then one token. */
export function useFillTokens(model: string | null): FillSupport {
  const [support, setSupport] = useState<FillSupport>('unknown');
  useEffect(() => {
    const leaving = new AbortController();
    setSupport('unknown');
    if (model === null) return;
    findFillTokens(model, leaving.signal).then(setSupport, () => {});
    return () => leaving.abort();
  }, [model]);
  return support;
}

async function findFillTokens(model: string, signal: AbortSignal): Promise<FillTokens | null> {
  for (const tokens of KNOWN) {
    const prompt = tokens.prefix + tokens.suffix + tokens.middle;
    const { count } = await tokenize({ model, prompt, spells: false, addSpecial: false }, signal);
    if (count === 3) return tokens;
  }
  return null;
}

/** The prompt that is answered with what belongs between. */
export function fillPrompt(tokens: FillTokens, before: string, after: string): string {
  return tokens.prefix + before + tokens.suffix + after + tokens.middle;
}
