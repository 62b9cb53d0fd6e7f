/** Bounds on what is asked of an answer's tokens: part of LIMITS. */
export const GENERATION_LIMITS = {
  /** Stop strings of a request. */
  stopStrings: 16,
  /** Characters of a stop string. */
  stopStringCharacters: 1024,
  /** Stop token ids of a request. */
  stopTokenIds: 256,
  /** Bad words of a request, or texts of `logit_bias`. */
  badWords: 1024,
  /** Characters of all bad words of a request, or of these texts. */
  badWordsCharacters: 8192,
  /** Snippets of a text that is to be filled in. */
  infillSnippets: 256,
  /** Entries of `logit_bias`. */
  logitBiases: 65_536,
  /** Entries of `allowed_token_ids`. */
  allowedTokenIds: 65_536,
  /** Sequences of one prompt: `n` and `best_of`. */
  choices: 128,
  /** Likeliest tokens that are reported for a place in the text. */
  logprobs: 20,
  /** Log-probabilities of an answer in one piece, of all its choices: they are written at once. */
  answeredLogprobs: 65_536,
  /** Tokens of an answer that goes on beyond its context, in contexts. */
  shiftedContexts: 16,
} as const;
