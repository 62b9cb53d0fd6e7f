/** Every route of this server, with what it takes and gives: the source of its documentation. */
import type { z } from 'zod';
import type { JsonObject } from '../openai/answer.ts';
import { listItemsQuery } from '../responses/list-items.ts';
import { documentedBodies as bodies } from './bodies.ts';

export interface Operation {
  readonly method: 'get' | 'post' | 'delete';
  /** With `{name}` for what varies. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly notes?: string;
  readonly body?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** A body that works as it stands. */
  readonly example?: JsonObject;
  /** What such a body is answered with. */
  readonly answer?: JsonObject;
  readonly answerType?: 'application/json' | 'text/plain' | 'text/html';
  /** Answers with events when `stream` is set. */
  readonly streams?: boolean;
  /** Served without an API key. */
  readonly isOpen?: boolean;
}

const SOCKET_NOTES =
  'Over WebSocket on the same path, each text frame is such a body plus a `request_id` of your choice; each answer frame is a chunk with that `request_id`, and the last one is `{"request_id", "type": "done"}`. `{"request_id", "type": "cancel"}` ends a request.';

const usage = { prompt_tokens: 21, completion_tokens: 8, total_tokens: 29 };

const user = [{ role: 'user', content: 'What is 23 + 45?' }];

const toolDefinition = {
  name: 'get_weather',
  description: 'The weather in a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
  },
};

export const OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/chat/completions',
    tag: 'OpenAI',
    summary: 'Answer a conversation',
    notes: SOCKET_NOTES,
    body: bodies.chatCompletions,
    example: { messages: user },
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
    path: '/v1/responses',
    tag: 'OpenAI Responses',
    summary: 'Create a response',
    notes:
      'Streamed, it is told by the typed events `response.created` to `response.completed`. Over WebSocket on the same path, each text frame is such a body with `"type": "response.create"`; the events come back as frames, one response after the other.',
    body: bodies.responses,
    example: { input: 'What is 23 + 45?', tools: [{ type: 'function', ...toolDefinition }] },
    answer: {
      id: 'resp_0c4f',
      object: 'response',
      created_at: 1_790_000_000,
      status: 'completed',
      model: 'summit',
      output: [
        {
          id: 'msg_81d0',
          type: 'message',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text: '23 + 45 = 68.', annotations: [], logprobs: [] }],
        },
      ],
      usage: { input_tokens: 21, output_tokens: 8, total_tokens: 29 },
    },
    streams: true,
  },
  {
    method: 'get',
    path: '/v1/responses/{id}',
    tag: 'OpenAI Responses',
    summary: 'Get a stored response',
    notes:
      'Responses are kept in memory, up to `--response-store-size`, the least used dropped first.',
  },
  {
    method: 'get',
    path: '/v1/responses/{id}/input_items',
    tag: 'OpenAI Responses',
    summary: 'List the input of a stored response',
    query: listItemsQuery,
  },
  {
    method: 'post',
    path: '/v1/responses/{id}/cancel',
    tag: 'OpenAI Responses',
    summary: 'Cancel a background response',
  },
  {
    method: 'delete',
    path: '/v1/responses/{id}',
    tag: 'OpenAI Responses',
    summary: 'Delete a stored response',
    notes: 'Conversations that go on from it are not harmed.',
    answer: { id: 'resp_0c4f', object: 'response', deleted: true },
  },
  {
    method: 'post',
    path: '/v1/messages',
    tag: 'Anthropic',
    summary: 'Answer a conversation, in Anthropic’s shape',
    notes: 'Errors too come in Anthropic’s envelope. The key may be sent as `x-api-key`.',
    body: bodies.messages,
    example: { max_tokens: 64, messages: user },
    answer: {
      id: 'msg_5ce2',
      type: 'message',
      role: 'assistant',
      model: 'summit',
      content: [{ type: 'text', text: '23 + 45 = 68.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 21, output_tokens: 8 },
    },
    streams: true,
  },
  {
    method: 'post',
    path: '/v1/messages/count_tokens',
    tag: 'Anthropic',
    summary: 'Count the tokens of a conversation',
    body: bodies.countTokens,
    example: { messages: user },
    answer: { input_tokens: 21 },
  },
  {
    method: 'get',
    path: '/v1/models',
    tag: 'Models',
    summary: 'List what is served',
    answer: {
      object: 'list',
      data: [{ id: 'summit', object: 'model', owned_by: 'chairlift', max_model_len: 2048 }],
    },
  },
  {
    method: 'get',
    path: '/models',
    tag: 'Models',
    summary: 'The same, without a key',
    isOpen: true,
  },
  {
    method: 'get',
    path: '/v1/models/{id}',
    tag: 'Models',
    summary: 'Get one model',
  },
  {
    method: 'post',
    path: '/v1/chat/completions/render',
    tag: 'Tokens and templates',
    summary: 'The prompt that a conversation comes to',
    body: bodies.chatCompletions,
    example: { messages: user },
    answer: { prompt: '<|im_start|>user\nWhat is 23 + 45?', token_ids: [1, 42], count: 2 },
  },
  {
    method: 'post',
    path: '/apply-template',
    tag: 'Tokens and templates',
    summary: 'The same under llama.cpp’s name',
    body: bodies.chatCompletions,
    example: { messages: user },
  },
  {
    method: 'post',
    path: '/tokenize',
    tag: 'Tokens and templates',
    summary: 'Text or conversation to token ids',
    body: bodies.tokenize,
    example: { prompt: 'Hello there', return_token_strs: true },
    answer: { count: 2, max_model_len: 2048, tokens: [412, 961], token_strs: ['Hello', 'Ġthere'] },
  },
  {
    method: 'post',
    path: '/detokenize',
    tag: 'Tokens and templates',
    summary: 'Token ids to text',
    body: bodies.detokenize,
    example: { tokens: [412, 961] },
    answer: { prompt: 'Hello there' },
  },
  {
    method: 'post',
    path: '/v1/embeddings',
    tag: 'OpenAI',
    summary: 'Not served: answers 501',
    notes: 'A model that generates text gives no embeddings.',
  },
  {
    method: 'get',
    path: '/health',
    tag: 'Operation',
    summary: '200 while the model can serve, 503 while it loads or is gone',
    isOpen: true,
    answer: { status: 'ok' },
  },
  {
    method: 'get',
    path: '/ready',
    tag: 'Operation',
    summary: '503 also while it recovers or shuts down; /readyz is the same',
    isOpen: true,
    answer: { status: 'ok' },
  },
  {
    method: 'get',
    path: '/readyz',
    tag: 'Operation',
    summary: 'The same as /ready',
    isOpen: true,
  },
  {
    method: 'get',
    path: '/livez',
    tag: 'Operation',
    summary: '503 only when the engine is gone for good',
    isOpen: true,
    answer: { status: 'ok' },
  },
  {
    method: 'get',
    path: '/version',
    tag: 'Operation',
    summary: 'The version of this server',
    isOpen: true,
    answer: { version: '0.1.0' },
  },
  {
    method: 'get',
    path: '/metrics',
    tag: 'Operation',
    summary: 'Metrics for Prometheus',
    isOpen: true,
    answerType: 'text/plain',
  },
  {
    method: 'get',
    path: '/openapi.json',
    tag: 'Operation',
    summary: 'This document',
    isOpen: true,
  },
  {
    method: 'get',
    path: '/docs',
    tag: 'Operation',
    summary: 'This document as a page',
    isOpen: true,
    answerType: 'text/html',
  },
];
