/** Advice on what to change next, by where the time goes. */
import type { Breakdown } from './breakdown.ts';

interface Rule {
  /** Share of the time from which on it is worth saying, 0 to 1. */
  readonly from: number;
  /** The parts that it is about. */
  readonly parts: readonly string[];
  readonly advice: (breakdown: Breakdown, concurrency: number) => string;
}

const RULES: readonly Rule[] = [
  {
    from: 0.1,
    parts: ['queue'],
    advice: (_, concurrency) =>
      concurrency > 1
        ? 'Requests wait for a place. Raise --max-num-seqs if memory and inter-token latency allow it, add --instances, or start another server.'
        : 'This one request waits for a place, so others hold all of them. Give them a lower priority, raise --max-num-seqs, or start another server.',
  },
  {
    from: 0.25,
    parts: ['prefill'],
    advice: ({ promptTokens, cachedTokens }) =>
      `Prompts are ${Math.round(promptTokens)} tokens, and ${Math.round(cachedTokens)} of them were cached. What requests share goes to the front of their prompts, where it is computed once. Next: --precision int8, more --threads, a GPU.`,
  },
  {
    from: 0.5,
    parts: ['decode'],
    advice: ({ parts, outputTokens }) => {
      const decodeMs = parts.find(({ name }) => name === 'decode')?.meanMs ?? 0;
      const perToken = decodeMs / Math.max(1, outputTokens - 1);
      return `Most of the time goes into the answer's tokens, ${perToken.toFixed(1)} ms each. Ask for fewer (max_tokens, stop), or make them cheaper: --precision int8 or int4, --speculative for few streams, a smaller model, a GPU. Requests at once cost little more than one: raise the concurrency for throughput.`;
    },
  },
  {
    from: 0.1,
    parts: ['tokenize'],
    advice: () =>
      'Templates and tokenizers take long. Prompts of more than 512 characters are made in threads: raise --tokenizer-pool-size if several wait for one.',
  },
  {
    from: 0.1,
    parts: ['detokenize', 'send', 'other'],
    advice: () =>
      'The front is short of CPU, or clients read slowly. Leave it a core of its own (--threads of the model below the number of cores), and look at nodejs_eventloop_lag_p99_seconds.',
  },
  {
    from: 0.1,
    parts: ['receive'],
    advice: () =>
      'Bodies arrive slowly. Send shorter ones, or refer to earlier ones with previous_response_id (/v1/responses).',
  },
  {
    from: 0.15,
    parts: ['network'],
    advice: () =>
      'Much of the time passes outside of the server. Keep connections open, put clients nearer, and look for proxies that collect streams.',
  },
];

/** The most important first; a word of praise if there is nothing to say. */
export function adviceOf(breakdown: Breakdown, concurrency: number): readonly string[] {
  const shares = new Map(
    [...breakdown.parts, breakdown.inside].map((part) => [part.name, part.share]),
  );
  const found = RULES.map(({ parts, ...rule }) => ({
    ...rule,
    parts,
    share: parts.reduce((sum, name) => sum + (shares.get(name) ?? 0), 0),
  })).filter(({ share, from }) => share >= from);
  if (found.length === 0) return ['Nothing stands out.'];
  return found
    .toSorted((a, b) => b.share - a.share)
    .map(({ parts, share, advice }) => {
      const percent = `${Math.round(100 * share)} % ${parts.join(', ')}`;
      return `${percent}: ${advice(breakdown, concurrency)}`;
    });
}
