import { documentedBodies as bodies } from '../documented-bodies.ts';
import type { Operation } from '../operation.ts';
import { QUESTION } from './question.ts';

const SOCKET_NOTES =
  'Over WebSocket on the same path, each text frame is such a body plus a `request_id` of your choice; each answer frame is a chunk with that `request_id`, and the last one is `{"request_id", "type": "done"}`. `{"request_id", "type": "cancel"}` ends a request.';

const usage = { prompt_tokens: 21, completion_tokens: 8, total_tokens: 29 };

export const OPENAI_OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/chat/completions',
    alias: '/chat/completions',
    tag: 'OpenAI',
    summary: 'Answer a conversation',
    notes: SOCKET_NOTES,
    body: bodies.chatCompletions,
    example: { messages: QUESTION },
    answer: {
      id: 'chatcmpl-7b1c',
      object: 'chat.completion',
      created: 1_790_000_000,
      model: 'summit',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: '23 + 45 = 68.', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
          stop_reason: null,
        },
      ],
      usage,
    },
    streams: true,
  },
  {
    method: 'post',
    path: '/v1/completions',
    tag: 'OpenAI',
    summary: 'Continue a text',
    notes: SOCKET_NOTES,
    body: bodies.completions,
    example: { prompt: 'Once upon a time', max_tokens: 32 },
    answer: {
      id: 'cmpl-52ab',
      object: 'text_completion',
      created: 1_790_000_000,
      model: 'summit',
      choices: [
        {
          index: 0,
          text: ' there was a fox',
          logprobs: null,
          finish_reason: 'length',
          stop_reason: null,
        },
      ],
      usage,
    },
    streams: true,
  },
  {
    method: 'post',
    path: '/v1/moderations',
    tag: 'OpenAI',
    errors: [501],
    summary: 'Not served: answers 501 and why',
  },
  {
    method: 'post',
    path: '/infill',
    tag: 'OpenAI',
    summary: 'Fill in what is missing between two texts, as llama-server does',
    notes:
      'For models that were trained for it, such as Qwen2.5-Coder; others answer 400. `/v1/completions` and `/api/generate` have `suffix` for the same.',
    body: bodies.infill,
    example: { input_prefix: 'def add(a, b):\n    return ', input_suffix: '\n', n_predict: 32 },
    answer: {
      index: 0,
      content: 'a + b',
      stop: true,
      model: 'qwen2.5-coder-0.5b',
      tokens_predicted: 4,
      tokens_evaluated: 15,
      tokens_cached: 0,
      has_new_line: false,
      truncated: false,
      stop_type: 'eos',
      stopping_word: '',
      timings: { cache_n: 0, prompt_n: 15, prompt_ms: 21, predicted_n: 4, predicted_ms: 18 },
    },
    streams: true,
  },
  {
    method: 'post',
    path: '/completion',
    tag: 'OpenAI',
    summary: 'Go on with a prompt, as llama-server does',
    notes: 'For its own clients; `/v1/completions` has more.',
    body: bodies.llamaCompletion,
    example: { prompt: 'Once upon a time', n_predict: 8 },
    answer: {
      index: 0,
      content: ' there was a little hen.',
      stop: true,
      model: 'summit',
      tokens_predicted: 8,
      tokens_evaluated: 4,
      tokens_cached: 0,
      has_new_line: false,
      truncated: false,
      stop_type: 'limit',
      stopping_word: '',
      timings: { cache_n: 0, prompt_n: 4, prompt_ms: 21, predicted_n: 8, predicted_ms: 36 },
    },
    streams: true,
  },
  {
    method: 'post',
    path: '/invocations',
    tag: 'OpenAI',
    summary: "A chat or a completion by SageMaker's path: `messages` or `prompt` says which",
    body: bodies.completions,
    example: { prompt: 'Once upon a time', max_tokens: 8 },
    answerSchema: { type: 'object' },
    streams: true,
  },
];
