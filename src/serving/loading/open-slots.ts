import type { PrefixTierLimits } from '../../engine/prefix-tier/open-tier.ts';
import { SlotFiles } from '../../front/slots/slot-files.ts';
import { SlotTexts } from '../../front/slots/slot-texts.ts';
import type { TextSlots } from '../../server/runtimes.ts';

interface SlotLimits {
  readonly maxModelLen: number;
  readonly prefixTier?: PrefixTierLimits | null;
}

/**
 * Opens what /slots/{id} saves, beside the prefixes that leave the KV cache.
 * @param contentId equal where token ids mean the same, and have the same keys and values
 * @returns null where there is no folder
 */
export function openSlots(
  { maxModelLen, prefixTier }: SlotLimits,
  numSlots: number,
  contentId: string,
): TextSlots | null {
  const folder = prefixTier?.folder ?? null;
  if (folder === null) return null;
  const files = new SlotFiles({ ...folder, model: contentId, maxTokens: maxModelLen });
  void files.sweepAll();
  return { texts: new SlotTexts(numSlots), files };
}
