/** Facts about a model's thoughts by which the engine ends them. */
import type { ThoughtBudget, ThoughtMarks } from '../../engine/request.ts';
import type { ContextLimits } from '../generation/fit-context.ts';
import { byteLevel } from '../grammars/grammar-vocabulary.ts';
import type { TextTokenizer } from '../text/tokenizer.ts';
import { InvalidRequestError } from '../invalid-request.ts';
import type { ChatFormat } from './chat-format.ts';
import type { ChatRequest } from './chat-request.ts';
import type { ReasoningFormat, ThoughtPlace } from './reasoning-formats.ts';

type MarkTokenizer = Pick<TextTokenizer, 'specialTexts' | 'tokenToId'>;

/**
 * @param tokens texts of the model's tokens, as GrammarVocabulary has them
 * @returns null for a model that has no tokens for its format's marks
 */
export function thoughtMarks(
  format: ReasoningFormat,
  tokens: readonly string[],
  tokenizer: MarkTokenizer,
): ThoughtMarks | null {
  const recurs = format.next !== '';
  const open = byteLevel(format.open.trim());
  const close = byteLevel(format.close);
  const answer = recurs ? byteLevel(format.next + format.answer.open) : '';
  const marks = [open, close, answer];
  const specialTexts = new Map<number, string>();
  for (const special of tokenizer.specialTexts) {
    const id = tokenizer.tokenToId(special);
    const text = byteLevel(special);
    if (id !== undefined && marks.some((mark) => mark.includes(text))) specialTexts.set(id, text);
  }
  const [closing, answering] = [close, answer].map((mark) =>
    tokensAlong(mark, tokens, specialTexts),
  );
  if (!closing || !answering) return null;
  return { open, close, closing, recurs, answer, answering, specialTexts };
}

/** For each place in a text the token that goes furthest along it; null if they do not reach its end. */
function tokensAlong(
  text: string,
  tokens: readonly string[],
  specialTexts: ReadonlyMap<number, string>,
): Int32Array | null {
  const places = new Int32Array(text.length).fill(-1);
  const reach = new Int32Array(text.length);
  const offer = (token: string, id: number) => {
    if (token === '') return;
    for (let at = text.indexOf(token); at !== -1; at = text.indexOf(token, at + 1)) {
      if (token.length <= (reach[at] ?? 0)) continue;
      places[at] = id;
      reach[at] = token.length;
    }
  };
  for (const [id, token] of tokens.entries()) if (token.length <= text.length) offer(token, id);
  for (const [id, token] of specialTexts) offer(token, id);
  let end = 0;
  while (end < text.length && reach[end] !== 0) end += reach[end] ?? 0;
  return end < text.length ? null : places;
}

/**
 * @param place where the prompt has left the text
 * @returns null where thoughts have no limit, or the prompt leaves nothing to be thought
 * @throws InvalidRequestError for a budget that makes no sense, or that cannot be kept
 */
export function thoughtBudgetOf(
  { thoughtMarks: marks = null, reasoningBudget = null }: ChatFormat,
  { thinkingBudget = null, limits }: Pick<ChatRequest, 'thinkingBudget' | 'limits'>,
  place: ThoughtPlace,
): ThoughtBudget | null {
  const maxTokens = thinkingBudget === null ? reasoningBudget : thinkingBudget.maxTokens;
  if (maxTokens === null) return null;
  if (thinkingBudget !== null) requireBudget(maxTokens, thinkingBudget.field, limits);
  if (place === 'after') return null;
  if (marks !== null) return { ...marks, maxTokens, isOpen: place === 'within' };
  if (thinkingBudget === null) return null;
  const { field } = thinkingBudget;
  const message = `\`${field}\`: this model has no tokens to end its thoughts with.`;
  throw new InvalidRequestError(message, field, 'unsupported_parameter');
}

function requireBudget(budget: number, field: string, { maxTokens, fields }: ContextLimits): void {
  if (maxTokens !== null && budget > maxTokens) {
    const message = `\`${field}\` is ${budget}, more than the ${maxTokens} tokens of \`${fields.maxTokens}\`.`;
    throw new InvalidRequestError(message, field, 'invalid_value');
  }
}
