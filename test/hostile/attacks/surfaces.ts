/** The ways in for one and the same attack. */

type Way = readonly [path: string, bodyOf: (text: string) => Readonly<Record<string, unknown>>];

export const user = (content: unknown) => [{ role: 'user', content }];

/** Whatever renders a chat template. */
export const CHATS: readonly Way[] = [
  ['/v1/chat/completions', (text) => ({ messages: user(text), max_tokens: 4 })],
  ['/v1/chat/completions/render', (text) => ({ messages: user(text), max_tokens: 4 })],
  ['/v1/responses', (text) => ({ input: text, max_output_tokens: 4 })],
  ['/v1/responses/input_tokens', (text) => ({ input: text })],
  ['/v1/messages', (text) => ({ messages: user(text), max_tokens: 4 })],
  ['/v1/messages/count_tokens', (text) => ({ messages: user(text) })],
  ['/tokenize', (text) => ({ messages: user(text) })],
];

/** Whatever tokenizes a text. */
export const TEXTS: readonly Way[] = [
  ...CHATS,
  ['/v1/completions', (prompt) => ({ prompt, max_tokens: 4 })],
  ['/tokenize', (prompt) => ({ prompt })],
];
