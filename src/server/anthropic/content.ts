/** From the blocks of a message of /v1/messages to its content in a chat. */
import type { ContentPart } from '../../front/templates/chat-message.ts';
import type { Block, Readable } from '../schemas/anthropic.ts';
import { imageOfBlock } from '../schemas/images.ts';

/**
 * A text, or parts where there are images among the blocks.
 * @param field name of the blocks, for errors
 */
export function contentOf(
  blocks: readonly (Block | Readable)[],
  field: string,
): string | ContentPart[] {
  const parts = blocks.flatMap((block, at): ContentPart[] =>
    block.type === 'image'
      ? [imageOfBlock(block, `${field}.${at}`)]
      : toText(block).map((text) => ({ type: 'text', text })),
  );
  const texts = parts.flatMap(({ type, text = '' }) => (type === 'text' ? [text] : []));
  return texts.length === parts.length ? texts.join('\n') : parts;
}

/** The text of a block that is for reading; none of the others. */
function toText(part: Block | Readable): string[] {
  if (part.type === 'text') return [part.text];
  if (part.type === 'tool_reference') return [part.tool_name];
  if (part.type === 'search_result') return [titled([part.title], textOf(part.content))];
  if (part.type !== 'document') return [];
  const { source } = part;
  const text = source.type === 'text' ? source.data : textOf(source.content);
  return [titled([part.title, part.context], text)];
}

function titled(titles: readonly (string | null | undefined)[], text: string): string {
  return [...titles.filter((title) => Boolean(title)), text].join('\n');
}

function textOf(value: string | readonly { readonly text: string }[]): string {
  return typeof value === 'string' ? value : value.map(({ text }) => text).join('\n');
}
