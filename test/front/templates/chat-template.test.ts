import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ChatTemplateError, type ChatMessage } from '../../../src/front/templates/chat-message.ts';
import { ChatTemplate } from '../../../src/front/templates/chat-template.ts';

const user = (content: ChatMessage['content']): ChatMessage => ({ role: 'user', content });
const GENERATE = { addGenerationPrompt: true };
const PLAIN = { addGenerationPrompt: false };

function template(source: string, tokens: Record<string, string> = {}): ChatTemplate {
  return new ChatTemplate(new Map([['default', source]]), tokens);
}

const weather = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: {} } },
};

const callWeather = (args: unknown): ChatMessage[] => [
  user('Rain?'),
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: args } }],
  },
  { role: 'tool', tool_call_id: 'c1', content: 'sun' },
];

describe("ChatTemplate, the embedded model's", () => {
  let summit: ChatTemplate;

  beforeAll(async () => {
    const loaded = await ChatTemplate.load('models/summit');
    if (loaded === null) throw new Error('models/summit has no chat template');
    summit = loaded;
  });

  it('renders a chat', () => {
    expect(
      summit.render([{ role: 'system', content: 'Be brief.' }, user('Hello!')], GENERATE),
    ).toBe(
      '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello!<|im_end|>\n' +
        '<|im_start|>assistant\n',
    );
  });

  it('joins the lines of text parts', () => {
    const parts = [
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
    ];
    expect(summit.render([user(parts)], PLAIN)).toBe('<|im_start|>user\none\ntwo<|im_end|>\n');
  });

  it.each(['{"city":"Rome"}', { city: 'Rome' }])(
    'renders tools, and calls with their arguments as JSON text or as an object: %j',
    (args) => {
      const prompt = summit.render(callWeather(args), { ...GENERATE, tools: [weather] });
      expect(prompt).toContain(
        '<tools>\n{"type": "function", "function": {"name": "weather", "parameters": ' +
          '{"type": "object", "properties": {}}}}\n</tools>',
      );
      expect(prompt).toContain(
        '<|im_start|>assistant\n<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n' +
          '</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\nsun\n</tool_response><|im_end|>\n',
      );
    },
  );

  it.each(['', null, undefined])('takes absent arguments for none: %j', (args) => {
    expect(summit.render(callWeather(args), PLAIN)).toContain('"arguments": {}}');
  });

  it('takes an empty list of tools or calls for none', () => {
    const prompt = summit.render(
      [user('Hi'), { role: 'assistant', content: 'Ho', tool_calls: [] }],
      {
        ...PLAIN,
        tools: [],
      },
    );
    expect(prompt).toBe('<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHo<|im_end|>\n');
  });

  it('leaves the last message open', () => {
    const messages = [user('Count: 1, 2, '), { role: 'assistant', content: 'Count: 1, 2, ' }];
    expect(summit.render(messages, { ...PLAIN, continueFinalMessage: true })).toBe(
      '<|im_start|>user\nCount: 1, 2, <|im_end|>\n<|im_start|>assistant\nCount: 1, 2, ',
    );
    expect(() => summit.render(messages, { ...GENERATE, continueFinalMessage: true })).toThrow(
      ChatTemplateError,
    );
  });

  it.each<[string, ChatMessage[], RegExp]>([
    ['no messages', [], /messages must not be empty/],
    [
      'an image',
      [
        user([
          { type: 'text', text: 'See:' },
          { type: 'image_url', image_url: { url: 'x' } },
        ]),
      ],
      /messages\[0\]\.content\[1\] is of type 'image_url'/,
    ],
    ['a part without text', [user([{ type: 'text' }])], /content\[0\]\.text must be a string/],
    [
      'damaged arguments',
      callWeather('{"city":'),
      /tool_calls\[0\]\.function\.arguments is not JSON/,
    ],
    ['arguments that are no object', callWeather('[1]'), /must be a JSON object/],
  ])('refuses %s', (_, messages, message) => {
    const render = (): string => summit.render(messages, PLAIN);
    expect(render).toThrow(ChatTemplateError);
    expect(render).toThrow(message);
  });
});

describe('ChatTemplate', () => {
  it("passes on the template's own error", () => {
    const strict = template(
      "{% for m in messages %}{% if m.role == 'system' %}" +
        "{{ raise_exception('System role not supported') }}{% endif %}{{ m.content }}{% endfor %}",
    );
    const render = (): string => strict.render([{ role: 'system', content: 'x' }], PLAIN);
    expect(render).toThrow(ChatTemplateError);
    expect(render).toThrow('System role not supported');
    expect(strict.render([user('ok')], PLAIN)).toBe('ok');
  });

  it('takes the role developer for system unless the template knows it', () => {
    const messages = [{ role: 'developer', content: 'Be brief.' }, user('Hi')];
    const roles = '{% for m in messages %}{{ m.role }} {% endfor %}';
    expect(template(roles).render(messages, PLAIN)).toBe('system user ');
    const known = template(`${roles}{% if messages[0].role == 'developer' %}!{% endif %}`);
    expect(known.render(messages, PLAIN)).toBe('developer user !');
  });

  it('gives templates special tokens, further variables, and null for no tools', () => {
    const source =
      '{{ bos_token }}{{ messages[0].content }}{% if think %}<think>{% endif %}' +
      '{% if tools is none %}no tools{% endif %}';
    const chat = template(source, { bos_token: '<s>' });
    expect(chat.render([user('Hi ')], { ...PLAIN, kwargs: { think: true, messages: 'x' } })).toBe(
      '<s>Hi <think>no tools',
    );
  });

  it('gives parts to a template that takes nothing else', () => {
    const chat = template(
      "{% for m in messages %}{% for p in m.content %}{% if p.type == 'text' %}[{{ p.text }}]" +
        '{% endif %}{% endfor %}{% endfor %}',
    );
    expect(chat.render([user('one')], PLAIN)).toBe('[one]');
    expect(chat.render([user([{ type: 'text', text: 'two' }])], PLAIN)).toBe('[two]');
    const open = chat.render([user('one')], { ...PLAIN, continueFinalMessage: true });
    expect(open).toBe('[one][');
  });

  it('gives JSON text to a template that writes arguments as they are', () => {
    const chat = template(
      '{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}' +
        "{{ c.function.name + ':' + c.function.arguments }}{% endfor %}{% endfor %}",
    );
    expect(chat.render(callWeather({ city: 'Rome' }), PLAIN)).toBe(
      'Rain?weather:{"city":"Rome"}sun',
    );
  });

  it('gives an object to a template that goes through the arguments', () => {
    const chat = template(
      '{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}' +
        '{% for k, v in c.function.arguments|items %}{{ k }}={{ v }};{% endfor %}' +
        '{% endfor %}{% endfor %}',
    );
    expect(chat.render(callWeather('{"city":"Rome"}'), PLAIN)).toBe('Rain?city=Rome;sun');
  });

  it('hides an empty list of calls from a template that asks only whether it is there', () => {
    const chat = template("{{ 'calls' if messages[0].tool_calls is defined else 'none' }}");
    const message = { role: 'assistant', content: 'x', tool_calls: [] };
    expect(chat.render([message], PLAIN)).toBe('none');
  });

  it('leaves the last message open where the template trims or drops it', () => {
    const options = { ...PLAIN, continueFinalMessage: true };
    const trims = template('{% for m in messages %}{{ m.content | trim }}</s>{% endfor %}');
    expect(trims.render([user('one ')], options)).toBe('one');
    const drops = template('nothing');
    expect(() => drops.render([user('one')], options)).toThrow(/leaves out the last message/);
  });

  it('takes the template for tools if there is one', () => {
    const named = new Map([
      ['default', 'plain'],
      ['tool_use', '{{ tools[0].function.name }}'],
    ]);
    const chat = new ChatTemplate(named, {});
    expect(chat.render([user('x')], PLAIN)).toBe('plain');
    expect(chat.render([user('x')], { ...PLAIN, tools: [weather] })).toBe('weather');
    // Calls and results in that template's own form, whatever the other one knows (Hermes 3, Command R7B).
    const own = new Map([
      ['default', '{% for m in messages %}{{ m.content }}{% endfor %}'],
      [
        'tool_use',
        '{% for t in tools %}{{ t.function.name }};{% endfor %}{% for m in messages %}{{ m.role }}:' +
          '{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}{{ m.content }};{% endfor %}',
      ],
    ]);
    const call = { function: { name: 'weather', arguments: '{"city": "Oslo"}' } };
    const messages = [
      user('x'),
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', content: 'sun' },
    ];
    const both = new ChatTemplate(own, {});
    expect(both.render(messages, { ...PLAIN, tools: [weather] })).toBe(
      'weather;user:x;assistant:{"city": "Oslo"};tool:sun;',
    );
    expect(both.render(messages, PLAIN)).toContain('<tool_call>');
    const rag = new ChatTemplate(new Map([['rag', 'x']]), {});
    expect(() => rag.render([user('x')], PLAIN)).toThrow(/no default chat template, only: rag/);
  });
});

describe('variables of a server', () => {
  const text = "{{ enable_thinking | default('none') }} {{ style | default('none') }}";
  const variables = { enable_thinking: false, style: 'x' };
  const chat = new ChatTemplate(new Map([['default', text]]), variables);
  const shown = (options: object) => chat.render([user('x')], { ...PLAIN, ...options });

  it('are there where a request does not say', () => {
    expect(shown({})).toBe('False x');
    expect(chat.respelled((each) => each).render([user('x')], PLAIN)).toBe('False x');
  });

  it('come after all that a request says', () => {
    expect(shown({ kwargs: { style: 'y' } })).toBe('False y');
    expect(shown({ thinking: true })).toBe('True x');
  });
});

describe('ChatTemplate.load', () => {
  let folder: string;
  const write = async (name: string, content: unknown): Promise<void> => {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    await writeFile(join(folder, name), text);
  };
  const load = async (): Promise<string | undefined> =>
    (await ChatTemplate.load(folder))?.render([user('x')], PLAIN);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'template-'));
  });

  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  it('gives null where there is no template', async () => {
    expect(await ChatTemplate.load(folder)).toBeNull();
    await write('tokenizer_config.json', {});
    expect(await ChatTemplate.load(folder)).toBeNull();
  });

  it('finds one where multimodal models have it', async () => {
    await write('chat_template.json', { chat_template: 'of processor {{ bos_token }}' });
    expect(await load()).toBe('of processor ');
    await write('tokenizer_config.json', { chat_template: 'of config' });
    expect(await load()).toBe('of config');
  });

  it('finds a named one, and one in a file of its own, which wins', async () => {
    const named = [{ name: 'default', template: 'of config {{ bos_token }}' }];
    await write('tokenizer_config.json', { chat_template: named, bos_token: { content: '<s>' } });
    expect(await load()).toBe('of config <s>');
    await write('chat_template.jinja', 'of file {{ bos_token }}');
    expect(await load()).toBe('of file <s>');
  });

  it('names the folder of a damaged one', async () => {
    await write('chat_template.jinja', '{% for %}');
    await expect(load()).rejects.toThrow(folder);
  });
});

describe('a template without tools', () => {
  const chatml = template(
    '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}',
  );
  const tools = [weather];
  const shown = `You can call these tools:
<tools>
${JSON.stringify(weather)}
</tools>
To call a tool, answer with a JSON object in this form:
<tool_call>
{"name": <tool name>, "arguments": <arguments object>}
</tool_call>`;

  it('has them in a system message, behind what that says', () => {
    expect(chatml.knowsTools).toBe(false);
    expect(chatml.render([user('Rain?')], { ...GENERATE, tools })).toBe(
      `<|im_start|>system\n${shown}<|im_end|>\n<|im_start|>user\nRain?<|im_end|>\n<|im_start|>assistant\n`,
    );
    const messages = [{ role: 'developer', content: 'Be brief.' }, user('Rain?')];
    expect(chatml.render(messages, { ...PLAIN, tools })).toBe(
      `<|im_start|>system\nBe brief.\n${shown}<|im_end|>\n<|im_start|>user\nRain?<|im_end|>\n`,
    );
    expect(chatml.render([user('Rain?')], PLAIN)).toBe('<|im_start|>user\nRain?<|im_end|>\n');
  });

  it('has calls as their model wrote them, and results as turns of the user', () => {
    const [question, call, result] = callWeather('{"city": "Rome"}');
    const messages = [question, { ...call, content: 'I look.' }, result, result, user('So?')];
    expect(chatml.render(messages.flatMap((each) => each ?? []) as ChatMessage[], PLAIN)).toBe(
      '<|im_start|>user\nRain?<|im_end|>\n<|im_start|>assistant\nI look.\n<tool_call>\n' +
        '{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call><|im_end|>\n<|im_start|>user\n' +
        '<tool_response>\nsun\n</tool_response>\n<tool_response>\nsun\n</tool_response>\nSo?<|im_end|>\n',
    );
    expect(() => chatml.render(callWeather('[1]'), PLAIN)).toThrow(
      'messages[1].tool_calls[0].function.arguments must be a JSON object',
    );
  });

  it('has them before the first question where it takes no system message', () => {
    const gemma = template(
      "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}" +
        "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('turns must alternate') }}{% endif %}" +
        '[{{ m.role }}] {{ m.content }}\n{% endfor %}',
    );
    expect(gemma.render([user('Rain?')], { ...PLAIN, tools })).toBe(`[user] ${shown}\nRain?\n`);
    const turns = [...callWeather({}), user('So?')];
    expect(gemma.render(turns, { ...PLAIN, tools })).toContain(
      '</tool_call>\n[user] <tool_response>\nsun\n</tool_response>\nSo?\n',
    );
  });

  it('has them as parts where it takes nothing else', () => {
    const parts = template(
      '{% for m in messages %}[{{ m.role }}]{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}',
    );
    expect(parts.render([user('Rain?')], { ...PLAIN, tools })).toBe(`[system]${shown}[user]Rain?`);
  });
});

describe('a template with tools', () => {
  it.each([
    ['all of them at once', '{{ tools | tojson }}'],
    [
      'their parameters one by one',
      '{% for t in tools or [] %}{{ t.function.name }}{% for k, v in t.function.parameters.properties | items %}{{ k }}: {{ v.type }}{% endfor %}{% endfor %}',
    ],
  ])('shows %s, and nothing is added', (_, source) => {
    const chat = template(`${source}{% for m in messages %}{{ m.content }}{% endfor %}`);
    expect(chat.knowsTools).toBe(true);
    const prompt = chat.render([user('Rain?')], { ...PLAIN, tools: [weather] });
    expect(prompt).toContain('weather');
    expect(prompt).not.toContain('You can call');
  });
});

it('says what is wrong with a template, wherever its reader stopped', () => {
  const message =
    "the chat template 'default' is damaged: SyntaxError: Unexpected character: \ufffd";
  expect(() => new ChatTemplate(new Map([['default', '{{ \u{1F600} }}']]), {})).toThrow(message);
});

describe('system messages later on', () => {
  const chat = [
    { role: 'system', content: 'A' },
    user('Hi'),
    { role: 'assistant', content: 'Ho' },
    { role: 'developer', content: 'B' },
    user('So?'),
  ];
  const strict =
    "{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('first!') }}{% endif %}{{ m.role }}:{{ m.content }};{% endfor %}";

  it('stay where they are if the template takes them there', () => {
    const free = template('{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}');
    expect(free.render(chat, PLAIN)).toBe('system:A;user:Hi;assistant:Ho;system:B;user:So?;');
  });

  it('are joined at the beginning if it does not', () => {
    expect(template(strict).render(chat, PLAIN)).toBe(
      'system:A\n\nB;user:Hi;assistant:Ho;user:So?;',
    );
  });

  it('are refused as they were if that does not help', () => {
    const never = template(`${strict}{{ raise_exception('never') }}`);
    expect(() => never.render(chat, PLAIN)).toThrow('first!');
  });
});

describe('values in templates are as in Python', () => {
  it.each([
    ['{{ none }} {{ true }} {{ missing }}.', 'None True .'],
    [
      '{{ [1, none, false, "a\'b", \'c\\n\', {"k": 0.5}] }}',
      `[1, None, False, "a'b", 'c\\n', {'k': 0.5}]`,
    ],
    ["{{ 'a' ~ none ~ true ~ missing ~ 1 }}", 'aNoneTrue1'],
    ['{{ none | string }}|{{ missing | trim }}|{{ missing | length }}', 'None||0'],
    ["{{ '\\n  a \\n'.strip('\\n') }}|", '  a |'],
    ["{{ 'xxaxx'.lstrip('x') }} {{ 'xxaxx'.rstrip('x') }}{{ ' b '.strip() }}", 'axx xxab'],
    [
      "{{ '<{}|{}>'.format('a', 1) }} {{ 'ab'.removeprefix('a') }} {{ 'ab'.removesuffix('b') }}",
      '<a|1> b a',
    ],
    [
      "{% set m = {0: 'a', 10: 'c', 2: 'b'} %}{{ m[2] }}{% for k, v in m | dictsort %}{{ k + 1 }}{{ v }}{% endfor %}",
      'b1a3b11c',
    ],
    ["{% set m = {'items': 1} %}{% for k, v in m.items() %}{{ k }}={{ v }}{% endfor %}", 'items=1'],
    [
      "{% for x in missing %}a{% else %}none{% endfor %}{{ {'a': 1}[missing] is defined }}",
      'noneFalse',
    ],
    [
      '{{ [3, 1, 2] | min }}{{ [3, 1, 2] | max }}{{ none | selectattr("a") | list | length }}',
      '130',
    ],
    ['{{ missing is iterable }}{{ missing is not iterable }}', 'TrueFalse'],
    [
      '{% macro f(x) %}{{ x }}{% endmacro %}{% if true %}{{ f(none) }}{% endif %}{% set y %}{{ true }}{% endset %}{{ y }}',
      'NoneTrue',
    ],
  ])('%s', (source, expected) => {
    expect(template(source).render([user('Hi')], PLAIN)).toBe(expected);
  });
});
