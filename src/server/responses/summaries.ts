/** Summaries in a conversation, in the form that the model reads. */
import type { Item, MessageItem } from './items.ts';
import type { SealedTexts } from './sealed-texts.ts';

/**
 * The items that the model reads: of those before the last summary only what others than the model said. What
 * it said and did there is in the summary, whether a client still sends it or not.
 */
export function rememberedOf(items: readonly Item[]): readonly Item[] {
  const last = items.findLastIndex(({ type }) => type === 'compaction');
  return items.filter((item, index) => index >= last || isSaidByOthers(item));
}

/** Whether a summary would have the model read less. */
export function canBeCompacted(remembered: readonly Item[]): boolean {
  return remembered.some((item) => item.type !== 'compaction' && !isSaidByOthers(item));
}

/** The items with messages in place of the summaries. */
export function openSummaries(items: readonly Item[], summaries: SealedTexts): readonly Item[] {
  return items.map((item) => {
    if (item.type !== 'compaction') return item;
    return toMessage(item.id, summaries.open(item.encrypted_content) ?? '');
  });
}

function isSaidByOthers(item: Item): boolean {
  return item.type === 'message' && item.role !== 'assistant';
}

function toMessage(id: string, summary: string): MessageItem {
  const text = `Summary of the conversation so far, which was shortened:\n\n${summary}`;
  const content = [{ type: 'input_text' as const, text }];
  return { id, type: 'message', status: 'completed', role: 'user', content };
}
