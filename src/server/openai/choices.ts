/** How many sequences a request runs, and which of them become its choices. */
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import type { GenerationRequest } from '../../front/generation/generation.ts';
import type { ServerConfig } from '../context.ts';
import { badRequest } from '../errors.ts';
import type { GenerationFields } from '../schemas/fields.ts';
import type { GatheredAnswer } from './answer.ts';

/** @throws ApiError 400 when the counts contradict each other or are more than the server takes. */
export function toFanOut(
  requests: readonly GenerationRequest[],
  fields: GenerationFields,
  { maxSequencesPerRequest: max }: ServerConfig,
): FanOutRequest {
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
      '`best_of` can not be streamed: the best are known only at the end.',
      'best_of',
      'invalid_value',
    );
  }
  const total = requests.length * numChoices;
  if (total > max) {
    const param = numChoices === 1 ? 'prompt' : fields.best_of ? 'best_of' : 'n';
    throw badRequest(
      `\`${param}\`: the request comes to ${total} sequences, but this server takes at most ${max} at once.`,
      param,
      'invalid_value',
    );
  }
  // The choice among them goes by log-probability.
  const prompts =
    numChoices === n
      ? requests
      : requests.map((request) => ({ ...request, logprobs: request.logprobs ?? 0 }));
  return { prompts, numChoices };
}

/** The `n` answers of each prompt with the highest mean log-probability, best first. */
export function pickBest(
  answers: readonly GatheredAnswer[],
  numChoices: number,
  n: number,
): GatheredAnswer[] {
  if (numChoices === n) return [...answers];
  const numPrompts = answers.length / numChoices;
  return Array.from({ length: numPrompts }, (_, prompt) => {
    const candidates = answers.slice(prompt * numChoices, (prompt + 1) * numChoices);
    return candidates.sort((a, b) => meanLogprob(b) - meanLogprob(a)).slice(0, n);
  }).flat();
}

function meanLogprob({ logprobs }: GatheredAnswer): number {
  const sum = logprobs.reduce((total, { logprob }) => total + logprob, 0);
  return logprobs.length === 0 ? 0 : sum / logprobs.length;
}
