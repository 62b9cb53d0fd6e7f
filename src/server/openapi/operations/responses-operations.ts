import { documentedBodies as bodies } from '../documented-bodies.ts';
import type { Operation } from '../operation.ts';
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

export const RESPONSES_OPERATIONS: readonly Operation[] = [
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
];
