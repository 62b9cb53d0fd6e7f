import { documentedBodies as bodies } from '../documented-bodies.ts';
import type { Operation } from '../operation.ts';
import { readQuery } from '../../responses/routes.ts';
import { listItemsQuery } from '../../responses/list-items.ts';

const toolDefinition = {
  name: 'get_weather',
  description: 'The weather in a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
  },
};

const CONVERSATION = {
  id: 'conv_7b21',
  object: 'conversation',
  created_at: 1_790_000_000,
  metadata: { topic: 'sums' },
};

export const RESPONSES_OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/responses',
    alias: '/responses',
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
    // A background response does not have it at first.
    optionalFields: ['usage'],
    streams: true,
  },
  {
    method: 'post',
    path: '/v1/responses/input_tokens',
    tag: 'OpenAI Responses',
    summary: 'Count the tokens that a response’s input comes to',
    body: bodies.responses,
    example: { input: 'What is 23 + 45?' },
    answer: { object: 'response.input_tokens', input_tokens: 21 },
  },
  {
    method: 'post',
    path: '/v1/responses/compact',
    tag: 'OpenAI Responses',
    summary: 'Sum up a conversation',
    body: bodies.compact,
    example: { input: 'What is 23 + 45?' },
    notes:
      'The model writes the summary, in the last service class. It is sealed for the key that asked, and taken as an item of `input`.',
    answer: {
      id: 'resp_0c4f',
      object: 'response.compaction',
      created_at: 1_790_000_000,
      output: [{ id: 'cmp_5d02', type: 'compaction', encrypted_content: 'q2z0...' }],
      usage: { input_tokens: 21, output_tokens: 8, total_tokens: 29 },
    },
  },
  {
    method: 'get',
    path: '/v1/responses/{id}',
    tag: 'OpenAI Responses',
    summary: 'Get a stored response, or the events of one in the background',
    query: readQuery,
    errors: [408, 429],
    streams: true,
    notes:
      'Responses are kept in memory, up to `--response-store-size`, the least used dropped first. With `stream=true` the events of one that was created with `background` and `stream`, from the start or after `starting_after`.',
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
    path: '/v1/conversations',
    tag: 'OpenAI Responses',
    summary: 'Create a conversation, which responses are added to by `conversation`',
    body: bodies.conversation,
    isBodyOptional: true,
    example: { metadata: { topic: 'sums' } },
    answer: CONVERSATION,
    notes: 'Kept in memory as responses are, for the key that made it.',
  },
  {
    method: 'get',
    path: '/v1/conversations/{id}',
    tag: 'OpenAI Responses',
    summary: 'Get a conversation',
    answer: CONVERSATION,
  },
  {
    method: 'post',
    path: '/v1/conversations/{id}',
    tag: 'OpenAI Responses',
    summary: 'Change the metadata of a conversation',
    body: bodies.conversationChange,
    example: { metadata: { topic: 'sums' } },
    answer: CONVERSATION,
  },
  {
    method: 'delete',
    path: '/v1/conversations/{id}',
    tag: 'OpenAI Responses',
    summary: 'Delete a conversation',
    answer: { id: 'conv_7b21', object: 'conversation.deleted', deleted: true },
  },
  {
    method: 'get',
    path: '/v1/conversations/{id}/items',
    tag: 'OpenAI Responses',
    summary: 'List the items of a conversation',
    query: listItemsQuery,
  },
  {
    method: 'post',
    path: '/v1/conversations/{id}/items',
    tag: 'OpenAI Responses',
    summary: 'Add items to a conversation',
    body: bodies.conversationItems,
    example: { items: [{ role: 'user', content: 'What is 23 + 45?' }] },
  },
  {
    method: 'get',
    path: '/v1/conversations/{id}/items/{item}',
    tag: 'OpenAI Responses',
    summary: 'Get an item of a conversation',
  },
  {
    method: 'delete',
    path: '/v1/conversations/{id}/items/{item}',
    tag: 'OpenAI Responses',
    summary: 'Delete an item of a conversation',
    answer: CONVERSATION,
  },
];
