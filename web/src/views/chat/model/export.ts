/** Chats as files: JSON for this page, Markdown for people. */
import { fullText } from '../request/request-body.ts';
import { isImageUrl } from './attachments.ts';
import { newId } from './new-id.ts';
import { type Chat, type ChatSettings, DEFAULT_SETTINGS, type Message, ROOT } from './types.ts';

const FORMAT = 'chairlift-chats';
const VERSION = 1;
const ROLES: ReadonlySet<unknown> = new Set(['user', 'assistant', 'tool']);

export interface ExportedChat {
  readonly chat: Chat;
  readonly messages: readonly Message[];
}

export function toJson(chats: readonly ExportedChat[]): string {
  return JSON.stringify({ format: FORMAT, version: VERSION, chats }, null, 1);
}

/** @param path the messages that are shown */
export function toMarkdown({ title, settings }: Chat, path: readonly Message[]): string {
  const parts = [`# ${title || 'Chat'}`];
  if (settings.system.trim() !== '') parts.push(`## System\n\n${settings.system}`);
  for (const message of path) {
    const { role, model, reasoning, toolCalls = [] } = message;
    const name = { user: 'User', assistant: 'Assistant', tool: 'Tool result' }[role];
    parts.push(`## ${name}${model === undefined ? '' : ` (${model})`}`);
    if (reasoning !== undefined) parts.push(quote(reasoning));
    for (const { name: of, image } of message.attachments ?? []) {
      if (image !== undefined) parts.push(`![${of.replaceAll(/[[\]]/g, '')}](${image})`);
    }
    if (fullText(message) !== '') parts.push(fullText(message));
    for (const call of toolCalls) {
      parts.push(`Calls \`${call.name}\`:\n\n\`\`\`json\n${call.arguments}\n\`\`\``);
    }
  }
  return `${parts.join('\n\n')}\n`;
}

/**
 * Chats of a file, with new ids, so that they are beside those they may be copies of.
 * @throws Error saying what is wrong with it
 */
export function fromJson(text: string): ExportedChat[] {
  const file: unknown = JSON.parse(text);
  if (!isRecord(file) || file['format'] !== FORMAT || !Array.isArray(file['chats'])) {
    throw new Error('This is not a file of chats.');
  }
  return file['chats'].map((entry: unknown, index) => readChat(entry, index));
}

function readChat(entry: unknown, index: number): ExportedChat {
  const fault = new Error(`Chat ${index + 1} of the file can’t be read.`);
  if (!isRecord(entry) || !isRecord(entry['chat']) || !Array.isArray(entry['messages'])) {
    throw fault;
  }
  const { chat } = entry;
  const listed: readonly unknown[] = entry['messages'];
  if (!listed.every(isMessage)) throw fault;
  const ids = new Map<unknown, string>([
    [null, ''],
    [ROOT, ROOT],
  ]);
  for (const { id } of listed) ids.set(id, newId());
  const chatId = newId();
  const messages = listed.map((message) => ({
    ...message,
    id: ids.get(message.id) ?? newId(),
    parentId: ids.get(message.parentId) || null,
    chatId,
  }));
  const chosen = Object.entries(isRecord(chat['chosen']) ? chat['chosen'] : {}).flatMap(
    ([parent, child]) => {
      const [from, to] = [ids.get(parent), ids.get(child)];
      return from && to ? [[from, to] as const] : [];
    },
  );
  const settings = isRecord(chat['settings']) ? chat['settings'] : {};
  return {
    chat: {
      id: chatId,
      title: typeof chat['title'] === 'string' ? chat['title'] : 'Imported chat',
      createdAt: Number(chat['createdAt'] ?? 0),
      changedAt: Date.now(),
      settings: readSettings(settings),
      chosen: Object.fromEntries(chosen),
    },
    messages,
  };
}

/** Settings of a file, or of this browser: what has the right type is taken. */
export function readSettings(settings: Readonly<Record<string, unknown>>): ChatSettings {
  const known = Object.entries(DEFAULT_SETTINGS).filter(([name, value]) => {
    const given = settings[name];
    if (name === 'model') return typeof given === 'string';
    return typeof given === typeof value && Array.isArray(given) === Array.isArray(value) && given;
  });
  const taken = Object.fromEntries(known.map(([name]) => [name, settings[name]]));
  return { ...DEFAULT_SETTINGS, ...taken };
}

const OPTIONAL_TEXTS = ['reasoning', 'error', 'model', 'schema', 'group', 'toolCallId', 'state'];

function isMessage(value: unknown): value is Message {
  return (
    hasTexts(value, ['id', 'content']) &&
    ROLES.has(value['role']) &&
    typeof value['createdAt'] === 'number' &&
    OPTIONAL_TEXTS.every((name) => ['string', 'undefined'].includes(typeof value[name])) &&
    isListOf(value['toolCalls'], (call) => hasTexts(call, ['id', 'name', 'arguments'])) &&
    isListOf(value['attachments'], isAttachment) &&
    isListOf(value['tokens'], (token) => isToken(token) && isListOf(token['top'], isToken)) &&
    (value['stats'] === undefined || isRecord(value['stats']))
  );
}

function isAttachment(value: unknown): boolean {
  if (!hasTexts(value, ['name', 'text'])) return false;
  const { image } = value;
  return image === undefined || (typeof image === 'string' && isImageUrl(image));
}

function isToken(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    hasTexts(value, ['token']) &&
    typeof value['logprob'] === 'number' &&
    Array.isArray(value['bytes'])
  );
}

/** Or left out. */
function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return value === undefined || (Array.isArray(value) && value.every(isItem));
}

function hasTexts(
  value: unknown,
  names: readonly string[],
): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && names.every((name) => typeof value[name] === 'string');
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function quote(text: string): string {
  return text.replaceAll(/^/gm, '> ');
}
