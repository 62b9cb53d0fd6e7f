import { documentedBodies as bodies } from '../documented-bodies.ts';
import type { Operation } from '../operation.ts';

const tag = 'Embeddings';
const query = 'Who sings?';
const documents = ['A bird sings.', 'It rains.'];

const rerankExample = { model: 'minilm-reranker', query, documents };
const rerankAnswer = {
  id: 'rerank-...',
  model: 'minilm-reranker',
  usage: { prompt_tokens: 18, total_tokens: 18 },
  results: [
    { index: 0, relevance_score: 0.98 },
    { index: 1, relevance_score: 0.01 },
  ],
};

const score = {
  method: 'post',
  tag,
  body: bodies.score,
  example: { model: 'minilm-reranker', queries: query, documents },
} as const;

/** What encoders are for: a model that generates text answers 400. */
export const EMBEDDING_OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/embeddings',
    tag,
    summary: 'Vectors of texts',
    notes:
      'Of a text encoder: see `--model-repository`. As in OpenAI, with `prompt_name` for models that have prompts.',
    body: bodies.embeddings,
    example: { model: 'minilm', input: ['A bird sings.'] },
    answer: {
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [0.012, -0.034] }],
      model: 'minilm',
      usage: { prompt_tokens: 6, total_tokens: 6 },
    },
  },
  {
    method: 'post',
    path: '/v1/rerank',
    tag,
    summary: 'Documents by how well they answer a query, as Jina has it',
    body: bodies.rerank,
    example: rerankExample,
    answer: rerankAnswer,
  },
  {
    method: 'post',
    path: '/v2/rerank',
    tag,
    summary: 'The same, as Cohere has it',
    body: bodies.rerank,
    example: rerankExample,
    answer: rerankAnswer,
  },
  {
    method: 'post',
    path: '/rerank',
    tag,
    summary: 'The same, as Jina or text-embeddings-inference have it',
    notes: 'With `texts` in place of `documents` the answer is that of text-embeddings-inference.',
    body: bodies.teiRerank,
    example: { model: 'minilm-reranker', query, texts: documents },
  },
  { ...score, path: '/v1/score', summary: 'Scores of pairs of texts, as vLLM has it' },
  { ...score, path: '/score', summary: 'The same' },
  {
    method: 'post',
    path: '/embed',
    tag,
    summary: 'Vectors of texts, as text-embeddings-inference has it',
    body: bodies.teiEmbed,
    example: { model: 'minilm', inputs: 'A bird sings.' },
  },
];
