/** Bodies whose shape is the attack. */
import type { Attack } from '../support/attack.ts';
import { CHATS, user } from './surfaces.ts';

const nested = (depth: number, open: string, close: string, core = '1'): string =>
  open.repeat(depth) + core + close.repeat(depth);

/** Past what the front makes at once, so that it goes to a thread. */
const LONG = 'Once upon a time. '.repeat(300);

/** JSON text with the text `__deep__` replaced by what JSON.stringify could not write. */
const withDeep = (body: object, deep: string): string =>
  JSON.stringify(body).replaceAll('"__deep__"', () => deep);

export const attacks: readonly Attack[] = [
  {
    name: '`chat_template_kwargs` nested 4,000 deep, twice',
    async run({ attacker }) {
      const body = { messages: user('Hi'), chat_template_kwargs: { a: '__deep__' } };
      const deep = withDeep(body, nested(4000, '[', ']'));
      await attacker.try('/v1/chat/completions', { body: deep, signal: AbortSignal.timeout(2000) });
      await attacker.try('/v1/chat/completions', { body: deep, signal: AbortSignal.timeout(2000) });
    },
  },
  {
    name: 'the same over every API, four times each',
    async run({ attacker }) {
      for (const [path, bodyOf] of CHATS) {
        const body = { ...bodyOf(LONG), chat_template_kwargs: { a: '__deep__' } };
        const deep = withDeep(body, nested(4000, '{"a":', '}'));
        const sends = Array.from({ length: 4 }, () =>
          attacker.try(path, { body: deep, signal: AbortSignal.timeout(2000) }),
        );
        await Promise.all(sends);
      }
    },
  },
  {
    name: '8 MB of `[`',
    async run({ attacker }) {
      await attacker.try('/v1/chat/completions', { body: '['.repeat(8e6) });
    },
  },
  {
    name: '8 MB of `{"a":` to every API',
    async run({ attacker }) {
      const body = nested(1e6, '{"a":', '}');
      for (const [path] of CHATS) await attacker.try(path, { body });
    },
  },
  {
    name: '190,000 messages',
    async run({ attacker }) {
      const messages = Array.from({ length: 190_000 }, () => ({ role: 'user', content: 'x' }));
      await attacker.try('/v1/chat/completions', { body: { messages } });
    },
  },
  {
    name: '100,000 messages, input items and turns to every other API',
    async run({ attacker }) {
      const messages = Array.from({ length: 100_000 }, () => ({ role: 'user', content: 'x' }));
      const body = { messages, input: messages, max_tokens: 4 };
      for (const [path] of CHATS.slice(1)) await attacker.try(path, { body });
    },
  },
  {
    name: '/detokenize of 3.9 million ids',
    async run({ attacker }) {
      const body = `{"tokens":[${'1,'.repeat(3.9e6)}1]}`;
      await attacker.try('/detokenize', { body });
    },
  },
  {
    name: 'what was answered with a 500: nesting in kwargs, tools, schemas and inputs',
    async run({ attacker }) {
      const deep = nested(3000, '{"a":', '}', '{}');
      const allOf = nested(3000, '{"allOf":[', ']}', '{}');
      const schema = (text: string) => ({
        messages: user('Hi'),
        response_format: { type: 'json_schema', json_schema: { schema: '__deep__' } },
        text,
      });
      const toolUse = { type: 'tool_use', id: 'a', name: 'a', input: '__deep__' };
      const tools = (parameters: unknown) => [
        { type: 'function', function: { name: 'a', parameters } },
      ];
      const bodies: readonly (readonly [string, string])[] = [
        ['/v1/chat/completions', withDeep(schema('const'), `{"const":${deep}}`)],
        ['/v1/chat/completions', withDeep(schema('allOf'), allOf)],
        [
          '/v1/chat/completions',
          withDeep({ messages: user('Hi'), tools: tools('__deep__') }, `{"properties":${deep}}`),
        ],
        [
          '/v1/chat/completions',
          withDeep({ messages: user('Hi'), chat_template_kwargs: { a: '__deep__' } }, deep),
        ],
        [
          '/v1/messages',
          withDeep(
            { max_tokens: 4, messages: [{ role: 'assistant', content: [toolUse] }, ...user('Hi')] },
            deep,
          ),
        ],
      ];
      for (const [path, body] of bodies) {
        await attacker.try(path, { body, signal: AbortSignal.timeout(5000) });
      }
    },
  },
  {
    name: '`temperature: 1e-320`, whose tokens must be of the vocabulary',
    async run({ attacker }) {
      const breaches: string[] = [];
      for (const temperature of [1e-320, 5e-324, 1e-45, 1e-300]) {
        const body = { prompt: 'Once', max_tokens: 8, temperature, return_token_ids: true };
        const { status, text } = await attacker.send('/v1/completions', { body });
        if (status >= 400) continue;
        const { choices } = JSON.parse(text) as { choices: { token_ids?: number[] }[] };
        const ids = choices[0]?.token_ids ?? [];
        if (ids.length === 0) breaches.push('no token ids came');
        const outside = ids.filter((id) => id >= 4096);
        if (outside.length > 0) breaches.push(`temperature ${temperature}: ${outside.join(', ')}`);
      }
      return breaches;
    },
  },
  {
    name: 'an object of 500,000 fields wherever an object may be',
    async run({ attacker }) {
      const fields = Array.from({ length: 500_000 }, (_, index) => `"k${index}":1`).join(',');
      const names = ['unknown', 'logit_bias', 'metadata', 'chat_template_kwargs', 'stream_options'];
      for (const name of names) {
        const body = withDeep(
          { messages: user('Hi'), max_tokens: 4, [name]: '__deep__' },
          `{${fields}}`,
        );
        await attacker.try('/v1/chat/completions', { body });
      }
    },
  },
  {
    name: 'numbers of a million digits, and 8 MB of escapes',
    async run({ attacker }) {
      const digits = '9'.repeat(1e6);
      for (const name of ['seed', 'temperature', 'max_tokens', 'priority']) {
        const body = withDeep({ prompt: 'Hi', [name]: '__deep__' }, digits);
        await attacker.try('/v1/completions', { body });
      }
      await attacker.try('/v1/completions', { body: `{"prompt":"${'\\u0061'.repeat(1.3e6)}"}` });
      await attacker.try('/v1/completions', { body: '"seed":1,'.repeat(8e5) });
    },
  },
  {
    name: 'names of 7 MB wherever a name may be, which no error may repeat',
    async run({ attacker }) {
      const name = 'x'.repeat(7e6);
      const breaches: string[] = [];
      const fields = ['model', 'user', 'cache_salt', 'previous_response_id', 'tool_choice', name];
      for (const [path, bodyOf] of CHATS) {
        for (const field of fields) {
          const answer = await attacker.try(path, { body: { ...bodyOf('Hi'), [field]: name } });
          const { length } = answer?.text ?? '';
          if (length > 32_000) breaches.push(`${path} answered ${length} characters`);
        }
      }
      return breaches;
    },
  },
  {
    name: 'one stored item of 1 MB, referred to 1,000 times',
    async run({ attacker }) {
      const content = [{ type: 'reasoning_text', text: 'x'.repeat(1e6) }];
      const input = [
        { type: 'reasoning', id: 'rs_big', content },
        { role: 'user', content: 'Hi' },
      ];
      await attacker.try('/v1/responses', { body: { input, max_output_tokens: 16 } });
      const references = Array.from({ length: 1000 }, () => ({
        type: 'item_reference',
        id: 'rs_big',
      }));
      const body = { input: [...references, ...input.slice(1)], max_output_tokens: 16 };
      for (let turn = 0; turn < 3; turn++) await attacker.try('/v1/responses', { body });
    },
  },
  {
    name: '`truncation: auto` over 4,000 items of 2 KB',
    async run({ attacker }) {
      const content = 'Once upon a time there was a fox. '.repeat(55);
      const input = Array.from({ length: 4000 }, () => ({ role: 'user', content }));
      const body = { input, truncation: 'auto', max_output_tokens: 16 };
      await Promise.all([1, 2, 3].map(() => attacker.try('/v1/responses', { body })));
    },
  },
];
