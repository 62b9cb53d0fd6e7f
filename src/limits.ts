/**
 * Every bound on what an untrusted request may ask for, in one place. docs/security.md has the same
 * table, and a test holds the two together. A bound that operators want to move is a flag: its value
 * here is the flag's default.
 */
export const LIMITS = {
  /** Bytes of a request body or a WebSocket frame (--max-body). */
  bodyBytes: 8 * 2 ** 20,
  /** Characters of a WebSocket request's id. */
  requestIdCharacters: 256,

  /** Stop strings of a request. */
  stopStrings: 16,
  /** Stop token ids of a request. */
  stopTokenIds: 256,
  /** Bad words of a request. */
  badWords: 1024,
  /** Entries of `logit_bias`. */
  logitBiases: 65_536,
  /** Sequences of one prompt: `n` and `best_of`. */
  choices: 128,
  /** Likeliest tokens that are reported for a place in the text. */
  logprobs: 20,

  /** Tools of a request. */
  tools: 1024,
  /** Characters of a tool's name. */
  toolNameCharacters: 256,
  /** Parts of a message's content, and its tool calls. */
  messageParts: 1024,

  /** Characters of a grammar, a regular expression or a JSON schema given as text. */
  grammarCharacters: 100_000,
  /** Texts of a choice that the output must be one of. */
  grammarChoices: 1000,
} as const;
