/** Words that people search for are in headings. */
import { expect, it } from 'vitest';
import { PAGES, readPage } from './support/pages.ts';

/** Names that other servers' documentation and papers have for what we have. */
const TERMS = [
  'Authentication',
  'Clients',
  'Configuration file',
  'Continuous batching',
  'Constant scales',
  'Dynamic batching',
  'Kubernetes',
  'KV cache',
  'LoRA',
  'Load test',
  'Logs',
  'Metrics',
  'Migrating from vLLM and llama-server',
  'Prefetch',
  'Prefix',
  'Pruning',
  'Quantization',
  'Rate',
  'Response cache',
  'SLO',
  'Sparsity',
  'Speculative decoding',
  'Structured output',
  'Tool',
  'Upgrading',
  'Warm-up',
];

it('each term is in a heading', () => {
  const headings = PAGES.flatMap((page) => readPage(page).match(/^#{1,4} .*$/gm) ?? []).join('\n');
  const words = headings.toLowerCase();
  expect(TERMS.filter((term) => !words.includes(term.toLowerCase()))).toEqual([]);
});
