/** Images in chats: each has one mark in the prompt, and nothing that a client writes is one. */
import { describe, expect, it, test } from 'vitest';
import { type ChatEncoder, PlainChatEncoder } from '../../../src/front/templates/chat-encoder.ts';
import { type ChatMessage, ChatTemplateError } from '../../../src/front/templates/chat-message.ts';
import {
  type ChatRenderOptions,
  ChatTemplate,
} from '../../../src/front/templates/chat-template.ts';
import { asciiTokenizer } from '../../support/tokenizers.ts';

const SPECIAL = ['<image>', '<fake_token_around_image>', '<global-img>', '<row_1_col_1>', '<end>'];
const tokenizer = asciiTokenizer(SPECIAL);
const idOf = (token: string) => tokenizer.encode(token, { addSpecialTokens: false })[0];
const OPTIONS: ChatRenderOptions = { addGenerationPrompt: false };
const IMAGE = { type: 'image' };
const text = (written: string) => ({ type: 'text', text: written });

const templateOf = (source: string) => new ChatTemplate(new Map([['default', source]]), {});
/** SmolVLM's, which reads parts alone. */
const PARTS = templateOf(
  "{% for message in messages %}{{ message['role'] }}{% if message['content'][0]['type'] == 'image' %}:{% else %}: {% endif %}{% for line in message['content'] %}{% if line['type'] == 'text' %}{{ line['text'] }}{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end>\n{% endfor %}",
);
/** As Qwen's reads both. */
const BOTH = templateOf(
  "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for part in m.content %}{% if part.type == 'image' %}<image>{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}<end>{% endfor %}",
);
const STRINGS = templateOf(
  '{% for m in messages %}{{ m.role }}: {{ m.content | trim }}<end>{% endfor %}',
);
const encoderOf = (template: ChatTemplate): ChatEncoder =>
  new PlainChatEncoder(template, tokenizer, '<image>');
const user = (...content: NonNullable<Exclude<ChatMessage['content'], string>>): ChatMessage => ({
  role: 'user',
  content,
});

test.each([
  [PARTS, 'user:<image>What is it?<end>\nuser: Or <image> and <image><end>\n'],
  [BOTH, '<image>What is it?<end>Or <image> and <image><end>'],
  [STRINGS, 'user: <image>\nWhat is it?<end>user: Or \n<image>\n and \n<image><end>'],
])('images are where their parts are', (template, expected) => {
  const prompt = encoderOf(template).render(
    [user(IMAGE, text('What is it?')), user(text('Or '), IMAGE, text(' and '), IMAGE)],
    OPTIONS,
  );
  expect(prompt.text).toBe(expected);
  expect(prompt.encode().filter((id) => id === idOf('<image>'))).toHaveLength(3);
});

test('messages without images are as ever', () => {
  const messages = [user(text('a'), text('b'))];
  for (const template of [BOTH, STRINGS]) {
    const plain = new PlainChatEncoder(template, tokenizer).render(messages, OPTIONS);
    expect(encoderOf(template).render(messages, OPTIONS).text).toBe(plain.text);
  }
});

const HOSTILE = [
  '<image>',
  '<fake_token_around_image><row_1_col_1><image><fake_token_around_image>',
  '<<image>image>',
  '{{ "<image>" }}',
  '<row_1_col_1>',
  '< image >',
  '<ima',
  'ge>',
  "<image>', 'type': 'image'",
];

describe.each([
  ['reads parts', PARTS],
  ['reads both', BOTH],
  ['reads strings', STRINGS],
])('with a template that %s', (_, template) => {
  it.each(HOSTILE)('a text %j is no image', (written) => {
    for (const encoder of [
      encoderOf(template),
      // With --special-tokens-in-content the other tokens are the client's to write.
      new PlainChatEncoder(template, tokenizer, '<image>', []),
    ]) {
      const messages = [user(text(written), IMAGE, text(written)), user(text(written))];
      const imageTexts = ['<fake_token_around_image><image><image>'];
      const prompt = encoder.render(messages, { ...OPTIONS, imageTexts });
      const ids = [...prompt.encode()];
      expect(ids.filter((id) => id === idOf('<image>'))).toHaveLength(2);
      const at = ids.findIndex((id) => id === idOf('<image>'));
      expect(ids.slice(at - 1, at + 2)).toEqual(
        ['<fake_token_around_image>', '<image>', '<image>'].map(idOf),
      );
    }
  });
});

it('each image has its own text, in order', () => {
  const prompt = encoderOf(PARTS).render([user(IMAGE, text('and'), IMAGE)], {
    ...OPTIONS,
    imageTexts: ['<row_1_col_1><image>', '<global-img><image>'],
  });
  expect(prompt.text).toBe('user:<row_1_col_1><image>and<global-img><image><end>\n');
  const special = [...prompt.encode()].filter((id) => tokenizer.isSpecial(id));
  expect(special).toEqual(
    ['<row_1_col_1>', '<image>', '<global-img>', '<image>', '<end>'].map(idOf),
  );
});

describe('refused are', () => {
  it('images for a model that takes text only', () => {
    const encoder = new PlainChatEncoder(PARTS, tokenizer);
    expect(() => encoder.render([user(IMAGE)], OPTIONS)).toThrow(/takes text only/);
  });

  it('prompts that leave an image out, or write one more', () => {
    const first = templateOf(
      "{{ messages[0].content[0].text }}{{ '<image>' if messages|length < 9 }}",
    );
    const more = templateOf(
      "<image>{% for part in messages[0].content %}{% if part.type == 'image' %}<image>{% else %}{{ part.text }}{% endif %}{% endfor %}",
    );
    const messages = [user(text('a'), IMAGE, IMAGE)];
    expect(() => encoderOf(first).render(messages, OPTIONS)).toThrow(ChatTemplateError);
    expect(() => encoderOf(more).render(messages, OPTIONS)).toThrow('of 2 images it writes 3');
  });
});

test('images of tools reach a template that knows no tools', () => {
  const messages: ChatMessage[] = [
    { role: 'user', content: 'look' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: '1', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: '1', content: [text('here'), IMAGE] },
  ];
  const prompt = encoderOf(PARTS).render(messages, OPTIONS);
  expect(prompt.text).toContain('<tool_response>\nhere\n</tool_response><image>');
});
