import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { NAMED_TEMPLATES } from '../../../src/serving/models/named-templates.ts';
import { readChatTemplate } from '../../../src/serving/models/chat-template.ts';
import { loadTextModel } from '../../../src/front/prompts/load-text-model.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const FOLDER = 'models/summit';
const TEMPLATE =
  '{% for message in messages %}<{{ message.role }}>{% generation %}{{ message.content }}{% endgeneration %}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}';

async function fileWith(text: string): Promise<string> {
  const path = join(await temporaryDirectory(), 'template.jinja');
  await writeFile(path, text);
  return path;
}

test('a template is read from a file, or is the text itself', async () => {
  expect(await readChatTemplate(undefined, FOLDER)).toBeUndefined();
  expect(await readChatTemplate('chatml', FOLDER)).toBe(NAMED_TEMPLATES.get('chatml'));
  expect(await readChatTemplate(TEMPLATE, FOLDER)).toBe(TEMPLATE);
  expect(await readChatTemplate(await fileWith(TEMPLATE), FOLDER)).toBe(TEMPLATE);
});

test("it goes before the model's own, even one that is broken", async () => {
  const chatTemplate = await readChatTemplate(TEMPLATE, FOLDER);
  const model = await loadTextModel({ folder: FOLDER, vocabSize: 4096, chatTemplate });
  const messages = [{ role: 'user', content: 'Hello' }];
  const text = model.chatTemplate?.render(messages, { addGenerationPrompt: true });
  expect(text).toBe('<user>Hello<assistant>');
  const folder = await temporaryDirectory();
  await writeFile(join(folder, 'tokenizer_config.json'), '{"chat_template": "{% if %}"}');
  expect(await readChatTemplate(TEMPLATE, folder)).toBe(TEMPLATE);
});

test.each([
  ['/nowhere.jinja', /^--chat-template \/nowhere\.jinja: no such file or folder$/],
  ['no-such', /^--chat-template no-such: no such file or folder$/],
  ['{% for message in messages %}', /^--chat-template: the chat template 'default' is damaged: /],
  ['{{', /damaged: it breaks off$/],
  ['{{ messages | nosuchfilter }}', /^--chat-template: .*nosuchfilter/],
  ['{{ raise_exception("no users here") }}', /^--chat-template: no users here$/],
])('%j is refused', async (given, message) => {
  await expect(readChatTemplate(given, FOLDER)).rejects.toThrow(message);
});

test('a file that is too long, and a model without a tokenizer, are refused', async () => {
  const long = await fileWith(`{{ "${'x'.repeat(2 ** 20)}" }}`);
  await expect(readChatTemplate(long, FOLDER)).rejects.toThrow(/more than 1048576$/);
  await expect(readChatTemplate(TEMPLATE, null)).rejects.toThrow(/a bare shape has no chats$/);
});
