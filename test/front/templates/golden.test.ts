/** Prompts of well-known chat templates against Transformers, to the byte: see scripts/references/templates.py. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { ChatTemplate } from '../../../src/front/templates/chat-template.ts';
import { NAMED_TEMPLATES } from '../../../src/serving/models/named-templates.ts';
import { ChatTemplateError } from '../../../src/front/templates/chat-message.ts';

const FOLDER = 'test/fixtures/templates';
const read = (name: string): string => readFileSync(`${FOLDER}/${name}`, 'utf8');

const conversation = z.object({
  messages: z.array(z.looseObject({ role: z.string(), content: z.string() })),
  tools: z.boolean().default(false),
  add_generation_prompt: z.boolean(),
  continue_final_message: z.boolean().default(false),
  variables: z.record(z.string(), z.unknown()).default({}),
});
const { tokens, tools, conversations } = z
  .object({
    tokens: z.record(z.string(), z.string()),
    tools: z.array(z.unknown()),
    conversations: z.array(conversation),
  })
  .parse(JSON.parse(read('conversations.json')));
const rendered = z
  .record(z.string(), z.array(z.string().nullable()))
  .parse(JSON.parse(read('rendered.json')));

beforeEach(() => void vi.useFakeTimers({ now: new Date(2026, 0, 2, 12), toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

const templates = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.jinja'))
  .map((name) => name.slice(0, -'.jinja'.length));

it('has 40 templates and 50 conversations', () => {
  expect(templates).toHaveLength(40);
  expect(Object.keys(rendered)).toEqual(templates);
  expect(conversations).toHaveLength(50);
});

it('the templates that have names are among them', () => {
  const own = templates
    .filter((name) => name.startsWith('own-'))
    .map((name) => read(`${name}.jinja`));
  for (const [name, text] of NAMED_TEMPLATES) expect(own, name).toContain(text);
});

it.each(templates)('%s', (name) => {
  const template = new ChatTemplate(new Map([['default', read(`${name}.jinja`)]]), tokens);
  const isShown = ({ messages, tools: hasTools }: z.infer<typeof conversation>): boolean =>
    (!hasTools || template.knowsTools) &&
    (template.knowsCalls || messages.every(({ tool_calls: calls }) => calls === undefined));
  const known = conversations.flatMap((chat, index) => {
    const expected = rendered[name]?.[index];
    // Chats that Transformers refuses and we tell as text are compared elsewhere.
    return expected && isShown(chat) ? [{ chat, index, expected }] : [];
  });
  expect(known.length).toBeGreaterThan(10);
  const differing = known.filter(({ chat, expected }) => {
    const text = textOf(template, chat);
    return createHash('sha256').update(text).digest('hex').slice(0, 16) !== expected;
  });
  expect(differing.map(({ index }) => index)).toEqual([]);
});

function textOf(template: ChatTemplate, chat: z.infer<typeof conversation>): string {
  try {
    return template.render(chat.messages, {
      addGenerationPrompt: chat.add_generation_prompt,
      continueFinalMessage: chat.continue_final_message,
      tools: chat.tools ? tools : undefined,
      kwargs: chat.variables,
    });
  } catch (error) {
    if (error instanceof ChatTemplateError) return `refused: ${error.message}`;
    throw error;
  }
}
