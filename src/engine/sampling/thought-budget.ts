/**
 * Ends thoughts at exactly `maxTokens` tokens. How far a thought is follows from its sequence's tokens
 * alone: drafts, crashes and the batch make no difference.
 */
import type { ThoughtBudget } from '../request.ts';
import type { Sequence } from '../sequence.ts';

/** Spaces, tabs and ends of lines, as GPT-2 spells them. */
const SPACE = /^[ĠĉċčĊČ]$/;

type Place =
  /** A thought may begin. */
  | 'before'
  | 'within'
  /** Between the end of a thought that had no tokens left and the answer. */
  | 'leaving'
  | 'over';

interface ThoughtState {
  readonly place: Place;
  /** Characters of the text that is looked for which are there. */
  readonly held: number;
  /** Tokens that began in thoughts, but for those below. */
  readonly numTokens: number;
  /** Tokens that began in what may be the closing text. */
  readonly numHeldTokens: number;
  readonly numThoughts: number;
  /** Whether the budget was spent when the thought at hand began. */
  readonly isSpent: boolean;
}

/** How far a sequence was read: its first tokens, and the state after them. */
interface Progress {
  length: number;
  state: ThoughtState;
}

export class ThoughtBudgets {
  /** Texts of tokens. */
  readonly #texts: readonly string[];
  readonly #progress = new WeakMap<Sequence, Progress>();

  /** @param texts as GrammarVocabulary has them */
  constructor(texts: readonly string[]) {
    this.#texts = texts;
  }

  /**
   * The token that has to come next; null where any may.
   * @param numDrafted tokens at the end that may be taken back
   */
  forcedToken(sequence: Sequence, numDrafted: number): number | null {
    const { thought } = sequence.request;
    if (thought === undefined) return null;
    const output = sequence.tokenIds(sequence.numPromptTokens);
    const progress = this.#progressOf(sequence, thought);
    if (progress.state.place === 'over') return null;
    const length = output.length - numDrafted;
    for (; progress.length < length; progress.length++) {
      progress.state = this.#after(progress.state, output[progress.length] ?? -1, thought);
    }
    let { state } = progress;
    for (const tokenId of output.subarray(length)) state = this.#after(state, tokenId, thought);
    return forcedIn(state, thought);
  }

  #progressOf(sequence: Sequence, { isOpen }: ThoughtBudget): Progress {
    let progress = this.#progress.get(sequence);
    if (progress === undefined) {
      progress = { length: 0, state: isOpen ? begun(START, 0) : START };
      this.#progress.set(sequence, progress);
    }
    return progress;
  }

  #after(state: ThoughtState, tokenId: number, thought: ThoughtBudget): ThoughtState {
    const text = thought.specialTexts.get(tokenId) ?? this.#texts[tokenId] ?? '';
    let next = state.place === 'within' ? withToken(state, text, thought) : state;
    for (const character of text) next = afterCharacter(next, character, thought);
    return next;
  }
}

const START: ThoughtState = {
  place: 'before',
  held: 0,
  numTokens: 0,
  numHeldTokens: 0,
  numThoughts: 0,
  isSpent: false,
};

function begun(state: ThoughtState, maxTokens: number): ThoughtState {
  const { numTokens, numThoughts } = state;
  // The first one may be followed by a tool call.
  const isSpent = numThoughts > 0 && numTokens >= maxTokens;
  return { ...state, place: 'within', held: 0, numThoughts: numThoughts + 1, isSpent };
}

function withToken(state: ThoughtState, text: string, { close }: ThoughtBudget): ThoughtState {
  const { held, numTokens, numHeldTokens } = state;
  const [first] = text;
  if (first !== undefined && first === close[held])
    return { ...state, numHeldTokens: numHeldTokens + 1 };
  // It looked like the end, and was of the thought.
  const known = { ...state, held: 0, numTokens: numTokens + numHeldTokens, numHeldTokens: 0 };
  if (first !== undefined && first === close[0]) return { ...known, numHeldTokens: 1 };
  return { ...known, numTokens: known.numTokens + 1 };
}

function afterCharacter(
  state: ThoughtState,
  character: string,
  thought: ThoughtBudget,
): ThoughtState {
  const { place, held } = state;
  if (place === 'over') return state;
  const text = soughtIn(place, thought);
  if (character === text[held]) {
    return held + 1 < text.length ? { ...state, held: held + 1 } : afterText(state, thought);
  }
  if (place === 'within') {
    const numTokens = state.numTokens + state.numHeldTokens;
    const isStart = character === text[0];
    return { ...state, held: isStart ? 1 : 0, numTokens, numHeldTokens: 0 };
  }
  if (thought.recurs) return { ...state, place: 'before', held: character === text[0] ? 1 : 0 };
  return held === 0 && SPACE.test(character) ? state : { ...state, place: 'over' };
}

function soughtIn(place: Place, { open, close, answer }: ThoughtBudget): string {
  if (place === 'within') return close;
  return place === 'leaving' ? answer : open;
}

/** Once the text that was looked for is whole. */
function afterText(state: ThoughtState, { recurs, maxTokens }: ThoughtBudget): ThoughtState {
  const found = { ...state, held: 0, numHeldTokens: 0 };
  if (state.place === 'before') return begun(found, maxTokens);
  if (state.place === 'leaving') return { ...found, place: 'before' };
  if (!recurs) return { ...found, place: 'over' };
  return { ...found, place: state.isSpent ? 'leaving' : 'before' };
}

function forcedIn(state: ThoughtState, thought: ThoughtBudget): number | null {
  const { place, held, numTokens, numHeldTokens } = state;
  if (place === 'leaving') return nextOf(thought.answering, held);
  if (place !== 'within' || numTokens + numHeldTokens < thought.maxTokens) return null;
  return nextOf(thought.closing, held);
}

/** Begins anew where a token can't be gone on with. */
function nextOf(tokenIds: Int32Array, place: number): number | null {
  return [tokenIds[place], tokenIds[0]].find((id) => id !== undefined && id !== -1) ?? null;
}
