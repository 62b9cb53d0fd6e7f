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
];
