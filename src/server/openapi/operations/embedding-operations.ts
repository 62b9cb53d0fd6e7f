import { documentedBodies as bodies } from '../documented-bodies.ts';
import type { Operation } from '../operation.ts';

const tag = 'Embeddings';
const query = 'Who sings?';
const documents = ['A bird sings.', 'It rains.'];

const rerankExample = { query, documents };
const rerankAnswer = {
  id: 'rerank-...',
  model: 'summit',
  usage: { prompt_tokens: 18, total_tokens: 18 },
  results: [
    { index: 0, relevance_score: 0.98 },
    { index: 1, relevance_score: 0.01 },
  ],
};

/** TEI's form of an answer. */
const scoredTexts = {
  type: 'array',
  items: {
    type: 'object',
    required: ['index', 'score'],
    properties: { index: { type: 'integer' }, score: { type: 'number' } },
  },
};

const score = {
  method: 'post',
  tag,
  body: bodies.score,
  example: { queries: query, documents },
  answer: {
    id: 'score-...',
    object: 'list',
    created: 1_790_000_000,
    model: 'summit',
    data: [
      { index: 0, object: 'score', score: 0.98 },
      { index: 1, object: 'score', score: 0.01 },
    ],
    usage: { prompt_tokens: 18, total_tokens: 18 },
  },
} as const;

/** Operations of encoders; a model that generates text answers them from its hidden states. */
export const EMBEDDING_OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/embeddings',
    tag,
    summary: 'Vectors of texts and images',
    notes:
      'Of a text encoder (see `--model-repository`), or of a model that generates text. As in OpenAI, with `prompt_name` for models that have prompts. Of CLIP and SigLIP also of images: objects in `input`, or one in `messages`.',
    body: bodies.embeddings,
    example: { input: ['A bird sings.'] },
    answer: {
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [0.012, -0.034] }],
      model: 'summit',
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
    example: { query, texts: documents },
    answerSchema: { anyOf: [scoredTexts, { type: 'object', required: Object.keys(rerankAnswer) }] },
  },
  {
    ...score,
    path: '/v1/score',
    summary: 'Scores of pairs of texts, or of texts and images, as vLLM has it',
  },
  { ...score, path: '/score', summary: 'The same' },
  {
    method: 'post',
    path: '/embed',
    tag,
    summary: 'Vectors of texts, as text-embeddings-inference has it',
    body: bodies.teiEmbed,
    example: { inputs: 'A bird sings.' },
    answerSchema: { type: 'array', items: { type: 'array', items: { type: 'number' } } },
  },
  {
    method: 'post',
    path: '/v2/embed',
    tag,
    summary: 'Vectors of texts or images, as Cohere has it',
    notes:
      '`input_type` picks the prompt of that kind, for models that have one. The texts are not repeated in the answer.',
    body: bodies.cohereEmbed,
    example: { texts: ['A bird sings.'], embedding_types: ['float', 'ubinary'] },
    answer: {
      id: 'embed-...',
      embeddings: { float: [[0.012, -0.034]], ubinary: [[128]] },
      meta: { api_version: { version: '2' }, billed_units: { input_tokens: 6 } },
      response_type: 'embeddings_by_type',
    },
  },
  {
    method: 'post',
    path: '/pooling',
    tag,
    summary: 'Vectors of tokens, or of texts, or what a classifier says, as vLLM has it',
    notes:
      '`task` is `token_embed`, `classify` or `embed`; left out, the first of these that the model can do. Vectors of tokens are lists of lists.',
    body: bodies.pooling,
    example: { input: ['A bird sings.'], task: 'embed' },
    answer: {
      id: 'pool-...',
      object: 'list',
      created: 1_790_000_000,
      model: 'summit',
      data: [{ index: 0, object: 'pooling', data: [0.012, -0.034] }],
      usage: { prompt_tokens: 6, total_tokens: 6 },
    },
  },
  {
    method: 'post',
    path: '/embed_all',
    tag,
    summary: 'The vectors of all tokens of texts, as text-embeddings-inference has it',
    notes: 'Of a text encoder; models that generate text have none.',
    body: bodies.teiEmbedAll,
    answerSchema: {
      type: 'array',
      items: { type: 'array', items: { type: 'array', items: { type: 'number' } } },
    },
  },
  {
    method: 'post',
    path: '/embed_sparse',
    tag,
    summary: 'Weights of the words of texts (SPLADE), as text-embeddings-inference has it',
    notes: 'Of a sparse encoder; others have none. Words are ids of tokens, ascending.',
    body: bodies.teiEmbedSparse,
    answerSchema: {
      type: 'array',
      items: {
        type: 'array',
        items: {
          type: 'object',
          properties: { index: { type: 'integer' }, value: { type: 'number' } },
        },
      },
    },
  },
  {
    method: 'post',
    path: '/classify',
    tag,
    summary: 'Labels of texts and how likely each is, as vLLM has it',
    notes: 'Of an encoder with a head for sequence classification.',
    body: bodies.classify,
    answer: {
      id: 'classify-...',
      object: 'list',
      created: 1_790_000_000,
      model: 'sentiment',
      data: [{ index: 0, label: 'positive', probs: [0.02, 0.98], num_classes: 2 }],
      usage: { prompt_tokens: 6, total_tokens: 6 },
    },
  },
  {
    method: 'post',
    path: '/predict',
    tag,
    summary: 'The same, as text-embeddings-inference has it',
    notes:
      '`inputs` is a text, a list of one or two texts that are read together, or a list of such lists.',
    body: bodies.teiPredict,
    answerSchema: { type: 'array', items: { type: ['object', 'array'] } },
  },
  {
    method: 'post',
    path: '/models/{model}',
    tag,
    summary:
      "How well labels of the request fit texts or an image, as Hugging Face's Inference API has it",
    notes:
      'Of a classifier of natural language inference. A text gets a list of labels, the likeliest first; a list of texts gets a list of these. Of CLIP and SigLIP `inputs` is an image: base64, or a URL.',
    body: bodies.zeroShot,
    answerSchema: { type: 'array', items: { type: ['object', 'array'] } },
  },
];
