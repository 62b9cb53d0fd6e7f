import { createParser } from 'eventsource-parser';

export interface StreamedCompletion {
  readonly text: string;
  readonly finishReason: string | null;
  readonly done: boolean;
  readonly error: string | undefined;
}

interface Chunk {
  readonly error?: { readonly message: string };
  readonly choices?: readonly {
    readonly text?: string;
    readonly delta?: { readonly content?: string };
    readonly finish_reason: string | null;
  }[];
}

/** POSTs a JSON body. */
export function post(url: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
}

/** Streams a chat or text completion to its end. @param onText called with each piece */
export async function stream(
  url: string,
  body: object,
  onText: (text: string) => void = () => {},
  send: typeof fetch = fetch,
): Promise<StreamedCompletion> {
  const response = await send(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, stream: true }),
  });
  if (!response.ok || !response.body)
    throw new Error(`${response.status} ${await response.text()}`);
  let text = '';
  let finishReason: string | null = null;
  let done = false;
  let error: string | undefined;
  const parser = createParser({
    onEvent({ data }) {
      if (data === '[DONE]') {
        done = true;
        return;
      }
      const chunk = JSON.parse(data) as Chunk;
      error ??= chunk.error?.message;
      const [choice] = chunk.choices ?? [];
      const piece = choice?.delta?.content ?? choice?.text ?? '';
      text += piece;
      finishReason ??= choice?.finish_reason ?? null;
      if (piece !== '') onText(piece);
    },
  });
  const decoder = new TextDecoder();
  for await (const bytes of response.body) parser.feed(decoder.decode(bytes, { stream: true }));
  return { text, finishReason, done, error };
}

/** Reads one sample of `/metrics`, summed over its labels. */
export async function metric(baseUrl: string, name: string, label = ''): Promise<number> {
  const text = await (await fetch(`${baseUrl}/metrics`)).text();
  const samples = text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => line.includes(label));
  if (samples.length === 0) throw new Error(`/metrics has no ${name} ${label}`);
  return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
