/** Summaries of conversations, in the form that the model reads. */
import type { Item, MessageItem } from './items.ts';
import type { SealedTexts } from './sealed-texts.ts';

/** The items with messages in place of the summaries. */
export function openSummaries(items: readonly Item[], summaries: SealedTexts): readonly Item[] {
  return items.map((item) => {
    if (item.type !== 'compaction') return item;
    return toMessage(item.id, summaries.open(item.encrypted_content) ?? '');
  });
}

function toMessage(id: string, summary: string): MessageItem {
  const text = `Summary of the conversation so far, which was shortened:\n\n${summary}`;
  const content = [{ type: 'input_text' as const, text }];
  return { id, type: 'message', status: 'completed', role: 'user', content };
}
