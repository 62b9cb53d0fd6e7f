/** The tokens that a tokenizer and its model share: fine-tunes may add tokens to the tokenizer alone. */
import { InvalidRequestError } from '../invalid-request.ts';
import { TokenizerError } from './tokenizer-files.ts';

/** A text has a token that the model does not have; the message is for the client. */
export class MissingTokenError extends InvalidRequestError {
  constructor(message: string) {
    super(message, null, 'invalid_value');
  }
}

interface TokenizerVocabulary {
  /** Ids of all tokens by their texts. */
  readonly ids: ReadonlyMap<string, number>;
  /** Texts of those that only their own text comes to. */
  readonly added: ReadonlySet<string>;
}

/** Tokens that a message lists. */
const MOST_LISTED = 5;

export class ModelVocabulary {
  /** Number of token ids that both have. */
  readonly size: number;
  readonly #modelSize: number;
  /** Texts of tokens that the model does not have, by id. */
  readonly #missing = new Map<number, string>();

  /**
   * @param modelSize tokens that the model has; Infinity where that is not known
   * @throws TokenizerError when any text may come to tokens that the model does not have
   */
  constructor({ ids, added }: TokenizerVocabulary, modelSize: number) {
    this.#modelSize = modelSize;
    let largest = -1;
    for (const [text, id] of ids) {
      largest = Math.max(largest, id);
      if (id >= modelSize) this.#missing.set(id, text);
    }
    this.size = Math.min(largest + 1, modelSize);
    const usual = [...this.#missing].filter(([, text]) => !added.has(text));
    if (usual.length === 0) return;
    throw new TokenizerError(
      `the tokenizer belongs to another model: it has ${largest + 1} tokens and the model ` +
        `${modelSize}, and any text may come to ${listed(usual)}`,
    );
  }

  has(id: number): boolean {
    return id < this.#modelSize;
  }

  /** For whoever loads the model; null where no token is missing. */
  get warning(): string | null {
    const missing = [...this.#missing];
    if (missing.length === 0) return null;
    const tokens = missing.length === 1 ? 'added token' : 'added tokens';
    return (
      `the tokenizer has ${missing.length} ${tokens} that the model does not have: ${listed(missing)}. ` +
      `The model has ${this.#modelSize} tokens; prompts with others are refused`
    );
  }

  /** @returns the same ids @throws MissingTokenError naming the first that the model does not have */
  require<T extends Iterable<number>>(ids: T): T {
    if (this.#missing.size === 0) return ids;
    for (const id of ids) {
      if (this.has(id)) continue;
      throw new MissingTokenError(
        `The token \`${this.#missing.get(id)}\` (id ${id}) is in the tokenizer but not in the model, ` +
          `which has ${this.#modelSize} tokens.`,
      );
    }
    return ids;
  }
}

function listed(tokens: readonly (readonly [id: number, text: string])[]): string {
  const shown = tokens.slice(0, MOST_LISTED).map(([id, text]) => `${text} (id ${id})`);
  const others = tokens.length - shown.length;
  return shown.join(', ') + (others > 0 ? ` and ${others} more` : '');
}
