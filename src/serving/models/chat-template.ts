/** The template of --chat-template, in place of the model's own. */
import { readBounded } from '../../files/read-bounded.ts';
import { ChatTemplate } from '../../front/templates/chat-template.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { meaningOf } from '../../files/system-error.ts';
import { UserError } from '../../user-error.ts';
import { UsageError } from '../../settings/usage-error.ts';
import { NAMED_TEMPLATES } from './named-templates.ts';

/** Characters of Jinja text that a file name hardly has. */
const TEXT = /\{[{%#]|\n/;

/**
 * Reads a template, and has it render a chat.
 * @param given a name, a file, or the text itself
 * @param folder of the tokenizer, whose special tokens it may use; null without one
 * @throws UsageError saying what is wrong with a text, UserError with a file
 */
export async function readChatTemplate(
  given: string | undefined,
  folder: string | null,
): Promise<string | undefined> {
  if (given === undefined) return undefined;
  const named = NAMED_TEMPLATES.get(given);
  const isText = named === undefined && TEXT.test(given);
  const where = isText ? '--chat-template' : `--chat-template ${given}`;
  if (folder === null) throw new UsageError(`${where}: a bare shape has no chats`);
  try {
    const text = named ?? (isText ? given : await readFile(given));
    const template = await ChatTemplate.load(folder, text);
    template?.render([{ role: 'user', content: 'Hello' }], { addGenerationPrompt: true });
    return text;
  } catch (error) {
    const Failure = isText ? UsageError : UserError;
    throw new Failure(`${where}: ${meaningOf(error)}`, { cause: error });
  }
}

async function readFile(path: string): Promise<string> {
  return (await readBounded(path, MODEL_LIMITS.chatTemplateBytes)).toString('utf8');
}
