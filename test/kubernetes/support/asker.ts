/**
 * A client of a gateway: `asker.ts URL`. Takes requests as lines of JSON (`Question`), as many at once as
 * come, and prints a line of JSON for each answer (`Answered`).
 */
import { createInterface } from 'node:readline';
import { SERVED_BY } from '../../../scripts/kubernetes/cluster/gateway.ts';
import type { Answered, Question } from './gateway-client.ts';

const [url = ''] = process.argv.slice(2);

interface Completion {
  readonly choices?: readonly { readonly text: string }[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly prompt_tokens_details?: { readonly cached_tokens: number };
  };
}

async function ask({ id, body, headers = {} }: Question): Promise<void> {
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const { choices, usage } = (response.ok ? JSON.parse(text) : {}) as Completion;
  const answered: Answered = {
    id,
    status: response.status,
    servedBy: response.headers.get(SERVED_BY)?.split(':')[0] ?? '',
    numPrompt: usage?.prompt_tokens ?? 0,
    numCached: usage?.prompt_tokens_details?.cached_tokens ?? 0,
    text: choices?.[0]?.text ?? text,
  };
  console.log(JSON.stringify(answered));
}

for await (const line of createInterface(process.stdin)) void ask(JSON.parse(line) as Question);
