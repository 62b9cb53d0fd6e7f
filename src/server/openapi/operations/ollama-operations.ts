import { documentedBodies as bodies } from '../documented-bodies.ts';
import type { Operation } from '../operation.ts';
import { QUESTION } from './question.ts';

const tag = 'Ollama';
const MODEL = { name: 'summit:latest', model: 'summit:latest' };
const DETAILS = {
  format: 'onnx',
  family: 'llama',
  parameter_size: '10.1M',
  quantization_level: 'INT8',
};

/** Counts of a generation; left out if a model is only loaded or unloaded. */
const COUNTS = {
  total_duration: 12_000_000,
  load_duration: 50_000,
  prompt_eval_count: 21,
  prompt_eval_duration: 3_000_000,
  eval_count: 8,
  eval_duration: 8_000_000,
};

const GENERATED = {
  model: 'summit:latest',
  created_at: '2026-11-22T12:00:00.000Z',
  done: true,
  done_reason: 'stop',
  ...COUNTS,
};

const optionalFields = Object.keys(COUNTS);

const NAMES =
  '`summit:latest` is the model, `summit:2` its version 2. Answers come as lines of JSON unless `stream` is false. Without a question the model is loaded, and with `keep_alive` 0 unloaded.';

export const OLLAMA_OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/api/chat',
    tag,
    summary: 'Answer a conversation, in Ollama’s shape',
    notes: NAMES,
    body: bodies.ollamaChat,
    example: { messages: QUESTION, options: { num_predict: 64 } },
    answer: { ...GENERATED, message: { role: 'assistant', content: '23 + 45 = 68.' } },
    optionalFields,
    streams: 'lines',
  },
  {
    method: 'post',
    path: '/api/generate',
    tag,
    summary: 'Answer one question, or continue a text with `raw`',
    notes: NAMES,
    body: bodies.ollamaGenerate,
    example: { prompt: 'What is 23 + 45?', stream: false },
    answer: { ...GENERATED, response: '23 + 45 = 68.' },
    optionalFields,
    streams: 'lines',
  },
  {
    method: 'get',
    path: '/api/tags',
    tag,
    summary: 'List the models',
    answer: { models: [{ ...MODEL, size: 12_000_000, details: DETAILS }] },
  },
  {
    method: 'get',
    path: '/api/ps',
    tag,
    summary: 'List the models in memory, and when they go',
    answer: { models: [{ ...MODEL, size: 12_000_000, expires_at: '2026-11-22T12:05:00.000Z' }] },
  },
  {
    method: 'post',
    path: '/api/show',
    tag,
    summary: 'What a model can do; of one that is not loaded little is known',
    body: bodies.ollamaModel,
    answer: { details: DETAILS, capabilities: ['completion', 'tools'] },
  },
  {
    method: 'post',
    path: '/api/pull',
    tag,
    summary: 'Download hf.co/owner/name and serve it',
    notes:
      'Takes the admin key or, where the server has no keys, a request from this machine. Refused with --model-control none and poll.',
    body: bodies.ollamaModel,
    answer: { status: 'success' },
    streams: 'lines',
    errors: [501],
  },
  {
    method: 'get',
    path: '/api/version',
    tag,
    summary: 'The version of Ollama whose API this is, and that of this server',
    isOpen: true,
    answer: { version: '0.14.0', chairlift: '0.2.0' },
  },
  {
    method: 'post',
    path: '/api/embed',
    tag,
    summary: 'Vectors of texts',
    body: bodies.ollamaEmbed,
    example: { input: ['A bird sings.'] },
    answer: {
      model: 'summit',
      embeddings: [[0.012, -0.034]],
      total_duration: 12_000_000,
      load_duration: 50_000,
      prompt_eval_count: 6,
    },
  },
  {
    method: 'post',
    path: '/api/embeddings',
    tag,
    summary: 'The vector of one text',
    body: bodies.ollamaEmbeddings,
    example: { prompt: 'A bird sings.' },
    answer: { embedding: [0.012, -0.034] },
  },
  ...(
    [
      ['post', '/api/create'],
      ['post', '/api/copy'],
      ['post', '/api/push'],
      ['delete', '/api/delete'],
    ] as const
  ).map(([method, path]) => ({
    method,
    path,
    tag,
    summary: 'Not served: answers 501 and why',
    errors: [501] as const,
  })),
];
