import { type Agent, request } from 'node:http';

export interface StreamedChat {
  readonly content: string;
  readonly ttftMs: number;
  /** NaN unless the body asks for its usage. */
  readonly numPromptTokens: number;
  readonly numCachedTokens: number;
}

/** The text of a streamed chat, and when it began. */
export function streamChat(url: string, agent: Agent, body: object): Promise<StreamedChat> {
  const payload = JSON.stringify({ ...body, stream: true });
  const begin = performance.now();
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const post = request(`${url}/v1/chat/completions`, { agent, method: 'POST', headers });
    post.on('error', reject);
    post.on('response', (response) => {
      let text = '';
      let ttftMs = NaN;
      response.on('data', (chunk: Buffer) => {
        const piece = chunk.toString();
        // A role may come before there is a token.
        if (Number.isNaN(ttftMs) && /"content":"[^"]/.test(piece))
          ttftMs = performance.now() - begin;
        text += piece;
      });
      response.on('end', () => {
        const content = Array.from(text.matchAll(/"content":("(?:[^"\\]|\\.)*")/g), ([, json]) =>
          String(JSON.parse(json ?? '""')),
        );
        const numberOf = (name: string) => Number(new RegExp(`"${name}":(\\d+)`).exec(text)?.[1]);
        if (text.includes('[DONE]')) {
          const numPromptTokens = numberOf('prompt_tokens');
          const numCachedTokens = numberOf('cached_tokens');
          resolve({ content: content.join(''), ttftMs, numPromptTokens, numCachedTokens });
        } else reject(new Error(text.slice(0, 500)));
      });
    });
    post.end(payload);
  });
}
