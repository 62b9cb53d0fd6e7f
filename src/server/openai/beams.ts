/** Beam search as vLLM's clients ask for it. */
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import type { GenerationSettings } from '../../front/generation/generation.ts';
import { badRequest } from '../errors.ts';
import type { ServedModel } from '../runtimes.ts';
import type { BeamFields } from '../schemas/beam-fields.ts';
import type { GenerationFields } from '../schemas/fields.ts';

type Fields = GenerationFields & BeamFields;

/** Fields that would change which tokens are likely, or where a text ends, with the values that do not. */
const NEUTRAL: Readonly<Record<string, (value: unknown) => boolean>> = {
  stream: (value) => value === false,
  max_tokens: (value) => value !== 0,
  stop: (value) => value === '' || isEmpty(value),
  logit_bias: isEmpty,
  allowed_token_ids: () => false,
  bad_words: isEmpty,
  repetition_penalty: (value) => value === 1,
  presence_penalty: (value) => value === 0,
  frequency_penalty: (value) => value === 0,
  dry_multiplier: (value) => value === 0,
  prompt_logprobs: () => false,
  thinking_token_budget: (value) => value === -1,
};

/**
 * The search that a request asks for, after `requireChoices`; null where it draws. Nothing is drawn in a
 * search, so `temperature`, `top_p` and the like do nothing, and penalties that the model recommends
 * are off.
 * @param width texts that go on at a time
 * @param settings of the request
 * @throws ApiError 400 naming a field that does not go with it
 */
export function beamsOf(
  fields: Fields,
  width: number,
  { stopTokenIds, promptLogprobs }: Pick<GenerationSettings, 'stopTokenIds' | 'promptLogprobs'>,
  { vocabSize }: Pick<ServedModel, 'vocabSize'>,
): NonNullable<GenerationSettings['beams']> | null {
  if (fields.use_beam_search !== true) return null;
  for (const [field, isNeutral] of Object.entries(NEUTRAL)) {
    const value = (fields as Readonly<Record<string, unknown>>)[field];
    if (value !== undefined && value !== null && !isNeutral(value)) throw excluded(field);
  }
  // An echo with log-probabilities.
  if (promptLogprobs !== null) throw excluded('echo');
  if (2 * width + stopTokenIds.length > vocabSize) {
    const message = `\`use_beam_search\`: a search of ${width} texts needs a larger vocabulary than this model's ${vocabSize} tokens.`;
    throw badRequest(message, 'use_beam_search', 'invalid_value');
  }
  return {
    width,
    numTexts: fields.n ?? 1,
    lengthPenalty: fields.length_penalty ?? 1,
    earlyStopping: fields.early_stopping ?? false,
  };
}

/** Where a search could not keep to what else is asked. @throws ApiError 400 */
export function requireSearchable({ prompts, grammar }: FanOutRequest): void {
  const reason =
    grammar !== undefined
      ? 'cannot hold an answer to a form: leave `response_format`, `structured_outputs`, strict tools and a required `tool_choice` out'
      : prompts.some(({ images }) => images !== undefined)
        ? 'takes no images'
        : prompts.some(({ thought }) => thought !== undefined)
          ? 'cannot end thoughts, which this server does: set `thinking_token_budget` to -1'
          : null;
  if (reason === null) return;
  throw badRequest(`\`use_beam_search\` ${reason}.`, 'use_beam_search', 'unsupported_parameter');
}

function excluded(field: string) {
  const message = `\`${field}\` and \`use_beam_search\` exclude each other.`;
  return badRequest(message, field, 'unsupported_parameter');
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
