import { expect, test } from 'vitest';
import { fromJson, toJson, toMarkdown } from '../../web/src/views/chat/model/export.ts';
import { MessageTree } from '../../web/src/views/chat/model/message-tree.ts';
import { chat, message } from './messages.ts';

const messages = [
  message('q1', null),
  message('a1', 'q1', { reasoning: 'I think\nso.' }),
  message('a2', 'q1', { tokens: [{ token: 'x', bytes: [120], logprob: -1, top: [] }] }),
];

function withImage(image: string) {
  return message('q1', null, { attachments: [{ name: 'a [dot].png', text: '', image }] });
}

test('chats come back with other ids, and the same shape', () => {
  const chosen = { root: 'q1', q1: 'a1' };
  const [back] = fromJson(toJson([{ chat: chat({ chosen }), messages }]));
  if (back === undefined) throw new Error('no chat');
  const ids = new Set(back.messages.map(({ id }) => id));
  expect(ids.size).toBe(3);
  expect([...ids].some((id) => ['q1', 'a1', 'a2'].includes(id))).toBe(false);
  const path = new MessageTree(back.messages).path(back.chat.chosen);
  expect(path.map(({ content }) => content)).toEqual(['q1', 'a1']);
  expect(new Set(back.messages.map(({ chatId }) => chatId))).toEqual(new Set([back.chat.id]));
});

test('settings of the wrong type are left out', () => {
  const file = JSON.parse(toJson([{ chat: chat(), messages }])) as {
    chats: { chat: { settings: unknown } }[];
  };
  const [first] = file.chats;
  if (first === undefined) throw new Error('no chat');
  first.chat.settings = { system: 'Kept', parameters: [], alsoModels: 'x', tools: 7 };
  const [back] = fromJson(JSON.stringify(file));
  expect(back?.chat.settings).toMatchObject({
    system: 'Kept',
    parameters: {},
    alsoModels: [],
    tools: '',
  });
});

test.each([
  '{}',
  '{"format": "chairlift-chats", "chats": [7]}',
  toJson([{ chat: chat(), messages: [message('q1', null, { role: 'evil' as 'user' })] }]),
  toJson([{ chat: chat(), messages: [message('q1', null, { content: 7 as unknown as string })] }]),
  toJson([{ chat: chat(), messages: [message('a1', null, { toolCalls: [{}] as unknown as [] })] }]),
  toJson([{ chat: chat(), messages: [withImage('https://evil.example/pixel.png')] }]),
  toJson([{ chat: chat(), messages: [withImage('data:image/svg+xml;base64,AAAA')] }]),
  toJson([{ chat: chat(), messages: [message('a1', null, { tokens: [{}] as unknown as [] })] }]),
])('other files are refused', (text) => {
  expect(() => fromJson(text)).toThrow(/chat/i);
});

test('images stay with their question', () => {
  const url = 'data:image/png;base64,iVBORw0KGgo=';
  const [back] = fromJson(toJson([{ chat: chat(), messages: [withImage(url)] }]));
  expect(back?.messages[0]?.attachments).toEqual([{ name: 'a [dot].png', text: '', image: url }]);
  expect(toMarkdown(chat(), [withImage(url)])).toBe(
    `# A chat\n\n## User\n\n![a dot.png](${url})\n\nq1\n`,
  );
});

test('as Markdown', () => {
  expect(toMarkdown(chat(), messages.slice(0, 2))).toBe(
    '# A chat\n\n## User\n\nq1\n\n## Assistant\n\n> I think\n> so.\n\na1\n',
  );
});
