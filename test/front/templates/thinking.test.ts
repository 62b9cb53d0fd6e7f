import { describe, expect, test } from 'vitest';
import { ChatTemplate } from '../../../src/front/templates/chat-template.ts';
import {
  type Thinking,
  ThinkingVariables,
  thinkingOf,
} from '../../../src/front/templates/thinking.ts';

/** As their templates ask for it. */
const QWEN3 = '{%- if enable_thinking is defined and enable_thinking is false %}{% endif %}';
const DEEPSEEK = '{% if not thinking is defined %}{% set thinking = false %}{% endif %}';
const GPT_OSS =
  '{%- if reasoning_effort is not defined %}{%- set reasoning_effort = "medium" %}{% endif %}';
const MISTRAL =
  "{%- if reasoning_effort not in ['none', 'high'] %}{{ raise_exception('no') }}{% endif %}";
const COMMAND_A = '{% if reasoning is undefined %}{% set reasoning = true %}{% endif %}';

describe('ThinkingVariables', () => {
  test.each<[string, Thinking, object]>([
    [QWEN3, false, { enable_thinking: false }],
    [QWEN3, 'low', { enable_thinking: true }],
    [QWEN3, true, { enable_thinking: true }],
    [QWEN3, null, {}],
    [DEEPSEEK, 'high', { thinking: true }],
    [DEEPSEEK, false, { thinking: false }],
    [COMMAND_A, false, { reasoning: false }],
    [GPT_OSS, 'high', { reasoning_effort: 'high' }],
    [GPT_OSS, 'xhigh', { reasoning_effort: 'high' }],
    [GPT_OSS, false, { reasoning_effort: 'low' }],
    [GPT_OSS, true, {}],
    [GPT_OSS, 'own', { reasoning_effort: 'own' }],
    [MISTRAL, false, { reasoning_effort: 'none' }],
    [MISTRAL, 'max', { reasoning_effort: 'high' }],
    [QWEN3 + GPT_OSS, false, { enable_thinking: false }],
    [QWEN3 + GPT_OSS, 'low', { enable_thinking: true, reasoning_effort: 'low' }],
    // A field, a text and what is outside of Jinja are no variables.
    ['thinking {{ message.thinking }}{{ "reasoning" }}{{ m["thinking"] }}', true, {}],
  ])('of %s for %j', (template, thinking, variables) => {
    expect(new ThinkingVariables(template).of(thinking)).toEqual(variables);
  });

  test('no effort is no thinking, and none said is none', () => {
    expect(['none', 'low', null, undefined].map(thinkingOf)).toEqual([false, 'low', null, null]);
  });
});

describe('ChatTemplate', () => {
  const template = new ChatTemplate(
    new Map([['default', '{{ messages[0].content }}{{ thinking }}{{ enable_thinking }}']]),
    {},
  );
  const chat = [{ role: 'user', content: 'Hi ' }];

  test('sets what the template reads; a client`s own variables come first', () => {
    const options = { addGenerationPrompt: false, thinking: 'high' };
    expect(template.render(chat, options)).toBe('Hi TrueTrue');
    expect(template.render(chat, { ...options, kwargs: { thinking: 'mine' } })).toBe('Hi mineTrue');
  });

  test.each([
    ['reasoning', ''],
    ['reasoning_content', ''],
    // Templates of gpt-oss refuse a thought beside content; who sends both is told so.
    ['thinking', 'Hm.'],
  ])('shows a thought that is called %s by each of its names', (name, beside) => {
    const shows = new ChatTemplate(
      new Map([
        [
          'default',
          '{% for m in messages %}{{ m.content }}{{ m.reasoning_content }}{{ m.reasoning }}{{ m.thinking }}{% endfor %}',
        ],
      ]),
      {},
    );
    const render = (content: string) =>
      shows.render([{ role: 'assistant', content, [name]: 'Hm.' }], {
        addGenerationPrompt: false,
      });
    expect(render('')).toBe('Hm.Hm.Hm.');
    expect(render('So.')).toBe(`So.Hm.Hm.${beside}`);
  });
});
