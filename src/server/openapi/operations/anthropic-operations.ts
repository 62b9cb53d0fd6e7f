import { documentedBodies as bodies } from '../documented-bodies.ts';
import type { Operation } from '../operation.ts';
import { QUESTION } from './question.ts';

export const ANTHROPIC_OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/messages',
    tag: 'Anthropic',
    summary: 'Answer a conversation, in Anthropic’s shape',
    notes: 'Errors too come in Anthropic’s envelope. The key may be sent as `x-api-key`.',
    body: bodies.messages,
    example: { max_tokens: 64, messages: QUESTION },
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
    example: { messages: QUESTION },
    answer: { input_tokens: 21 },
  },
];
