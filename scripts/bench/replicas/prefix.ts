/** Conversations over three replicas: how much of their prompts is found in the prefix caches. */
import { metric, post } from '../../../test/support/http-client.ts';
import { type ReplicaOptions, Replicas } from '../../../test/support/replicas.ts';

export interface PrefixOutcome {
  readonly affinity: boolean;
  readonly requests: number;
  readonly failed: number;
  /** Share of the prompts' tokens. */
  readonly hitRate: number;
  readonly meanMs: number;
}

const CONVERSATIONS = 24;
const AT_ONCE = 6;
const TURNS = 6;
const SYSTEM = 'You are a careful storyteller who answers in a few plain sentences. ';

export async function prefixHits(
  options: ReplicaOptions,
  affinity: boolean,
): Promise<PrefixOutcome> {
  const replicas = await Replicas.start(['one', 'two', 'three'], { ...options, affinity });
  try {
    const times: number[] = [];
    let failed = 0;
    const histories = Array.from({ length: CONVERSATIONS }, () => [
      { role: 'system', content: SYSTEM },
    ]);
    const ask = async (
      history: { role: string; content: string }[],
      index: number,
      turn: number,
    ) => {
      history.push({
        role: 'user',
        content: `Chapter ${turn} of the story of traveller ${index}?`,
      });
      const start = performance.now();
      const body = { messages: history, max_tokens: 48, ignore_eos: true, temperature: 0 };
      const response = await post(`${replicas.url}/v1/chat/completions`, body);
      times.push(performance.now() - start);
      const answer = (await response.json()) as {
        choices?: { message: { content: string } }[];
      };
      const content = answer.choices?.[0]?.message.content;
      if (content === undefined) failed++;
      history.push({ role: 'assistant', content: content ?? '' });
    };
    // A turn of each conversation, then the next turn of each: as users who read before they ask.
    for (let turn = 1; turn <= TURNS; turn++) {
      let next = 0;
      const clients = Array.from({ length: AT_ONCE }, async () => {
        for (let index = next++; index < CONVERSATIONS; index = next++) {
          await ask(histories[index] ?? [], index, turn);
        }
      });
      await Promise.all(clients);
    }
    const total = async (name: string) => {
      const urls = [...replicas.running.values()].map(({ url }) => url);
      const counts = await Promise.all(urls.map((url) => metric(url, name)));
      return counts.reduce((sum, count) => sum + count, 0);
    };
    const hits = await total('chairlift_prefix_cache_hits_total');
    return {
      affinity,
      requests: CONVERSATIONS * TURNS,
      failed,
      hitRate: hits / (await total('chairlift_prefix_cache_queries_total')),
      meanMs: times.reduce((sum, ms) => sum + ms, 0) / times.length,
    };
  } finally {
    await replicas.stop();
  }
}
