/** How many sequences a request runs, and which of them become its choices. */
import type { TokenLogprob } from '../../front/generation/token-logprob.ts';
import { badRequest } from '../errors.ts';
import type { GenerationFields } from '../schemas/fields.ts';

/**
 * How many sequences each prompt runs.
 * @param max of all prompts: what can run and wait at once
 * @throws ApiError 400 when the counts contradict each other or are more than the server takes.
 */
export function requireChoices(
  fields: Pick<GenerationFields, 'n' | 'best_of' | 'stream'>,
  numPrompts: number,
  max: number,
): number {
  const n = fields.n ?? 1;
  const numChoices = fields.best_of ?? n;
  if (numChoices < n) {
    throw badRequest(
      `\`best_of\` is ${numChoices}, less than \`n\`, which is ${n}.`,
      'best_of',
      'invalid_value',
    );
  }
  if (numChoices > n && fields.stream === true) {
    throw badRequest(
      '`best_of` cannot be streamed: the best are known only at the end.',
      'best_of',
      'invalid_value',
    );
  }
  const total = numPrompts * numChoices;
  if (total > max) {
    const param = numChoices === 1 ? 'prompt' : fields.best_of ? 'best_of' : 'n';
    throw badRequest(
      `\`${param}\`: the request comes to ${total} sequences, but this server takes at most ${max} at once.`,
      param,
      'invalid_value',
    );
  }
  return numChoices;
}

interface Candidate {
  readonly logprobs: readonly TokenLogprob[];
}

/** The `n` choices of each prompt with the highest mean log-probability, best first. */
export function pickBest<Choice extends Candidate>(
  choices: readonly Choice[],
  numChoices: number,
  n: number,
): Choice[] {
  if (numChoices === n) return [...choices];
  const numPrompts = choices.length / numChoices;
  return Array.from({ length: numPrompts }, (_, prompt) => {
    const candidates = choices.slice(prompt * numChoices, (prompt + 1) * numChoices);
    return candidates.sort((a, b) => meanLogprob(b) - meanLogprob(a)).slice(0, n);
  }).flat();
}

function meanLogprob({ logprobs }: Candidate): number {
  const sum = logprobs.reduce((total, { logprob }) => total + logprob, 0);
  return logprobs.length === 0 ? 0 : sum / logprobs.length;
}
