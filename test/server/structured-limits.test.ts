import { describe, expect, test } from 'vitest';
import { GrammarFaultError } from '../../src/front/engine-process/errors.ts';
import type { GrammarSource } from '../../src/grammar/grammar-source.ts';
import { LIMITS } from '../../src/limits.ts';
import { errorOf, post } from './support/client.ts';
import { useServers } from './support/test-server.ts';
import { HERMES } from '../support/chat-formats.ts';

const server = useServers();
const messages = [{ role: 'user', content: 'Hi' }];
const chatFormat = { toolCalls: HERMES, reasoning: null };

function nested(depth: number): object {
  return depth === 0 ? {} : { items: nested(depth - 1) };
}

const jsonSchema = (schema: unknown) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
});
const wide = { enum: Array.from({ length: 20_000 }, (_, index) => index) };
const tool = (parameters: object) => ({
  tools: [{ type: 'function', function: { name: 'f', parameters } }],
  tool_choice: 'required',
});
const choice = 'x'.repeat(LIMITS.grammarChoiceCharacters / 2);

describe('a grammar past the limits', () => {
  test.each([
    [
      'a wide schema',
      jsonSchema(wide),
      'response_format.json_schema.schema',
      `more than ${LIMITS.grammarCharacters} char`,
    ],
    ['a deep schema', jsonSchema(nested(70)), null, `${LIMITS.jsonDepth} levels`],
    ['a wide schema of vLLM', { guided_json: wide }, 'guided_json', 'more than'],
    ['long choices', { guided_choice: ['a', choice, choice] }, 'guided_choice', 'together'],
    ['wide tools', tool(wide), 'tools', `more than ${LIMITS.grammarCharacters} characters`],
    ['deep tools', tool(nested(70)), null, `${LIMITS.jsonDepth} levels`],
  ])('%s is refused before any thread sees it', async (_, fields, param, message) => {
    let numChecked = 0;
    const target = await server({
      chatFormat,
      // Prompts of wide tools fit.
      maxModelLen: 1_000_000,
      grammars: {
        check: async ({ field }) => {
          numChecked++;
          return { ebnf: '', field };
        },
      },
    });
    const body = { messages, ...fields };
    const error = await errorOf(await post(target, '/v1/chat/completions', body), 400);
    expect(error.param).toEqual(param);
    expect(error.message).toContain(message);
    expect(numChecked).toBe(0);
  });

  test('of regular expression and schema is left to the threads', async () => {
    const sources: GrammarSource[] = [];
    const target = await server({
      chatFormat,
      grammars: {
        check: async (source) => {
          sources.push(source);
          return { ebnf: 'root ::= "x"', field: source.field };
        },
      },
    });
    // The front cannot stall over what it does not look at.
    for (const fields of [
      { guided_regex: '(' },
      { guided_json: '{' },
      jsonSchema({ type: 'bad' }),
      tool({ type: 'bad' }),
    ]) {
      const answer = await post(target, '/v1/chat/completions', { messages, ...fields });
      expect(answer.status).toBe(200);
    }
    expect(sources.map(({ form }) => form.kind)).toEqual([
      'regex',
      'json_schema',
      'json_schema',
      'tools',
    ]);
  });

  test('that its compiler refuses is a 400 with the field and the limit', async () => {
    const target = await server({ chatFormat });
    const schema = { type: 'string', pattern: '((a{100}){100}){100}' };
    const answer = await post(target, '/v1/chat/completions', { messages, ...jsonSchema(schema) });
    const error = await errorOf(answer, 400);
    expect(error.param).toBe('response_format.json_schema.schema');
    expect(error.message).toContain(`more than ${LIMITS.grammarRegexSize} characters`);
  });
});

test('a grammar that the text cannot go on with is the fault of its request', async () => {
  const target = await server({
    *script() {
      yield 65;
      throw new GrammarFaultError('the text cannot go on within its grammar');
    },
  });
  const error = await errorOf(await post(target, '/v1/chat/completions', { messages }), 400);
  expect(error).toMatchObject({
    message: 'The output could not be finished: the text cannot go on within its grammar.',
    type: 'invalid_request_error',
    code: 'grammar_failed',
  });
  const response = await post(target, '/v1/responses', { input: 'Hi', stream: true });
  const events = await response.text();
  expect(events).toContain('"error":{"code":"invalid_prompt"');
});
