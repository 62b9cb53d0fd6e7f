import type { PrefixTierLimits } from '../../engine/prefix-tier/open-tier.ts';
import { requireFolder } from '../../files/named-files.ts';
import { isSystemError } from '../../files/system-error.ts';
import { UserError } from '../../user-error.ts';

/** Errors of a folder that is there for others: it may be mended while the server runs. */
const REFUSALS: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS']);

interface UsableTier {
  readonly prefixTier: PrefixTierLimits | null;
  /** Why the folder is not used; null where it is, or none was named. */
  readonly warning: string | null;
}

/**
 * Leaves out a folder that this user may not list or write to: it only saves work, and a server without it
 * answers the same.
 * @throws UserError for a folder that can't be one, such as below a file
 */
export async function usableTier(prefixTier: PrefixTierLimits | null): Promise<UsableTier> {
  const folder = prefixTier?.folder ?? null;
  if (prefixTier === null || folder === null) return { prefixTier, warning: null };
  try {
    await requireFolder('--prefix-cache-dir', folder.path);
    return { prefixTier, warning: null };
  } catch (error) {
    if (!(error instanceof UserError) || !isSystemError(error.cause)) throw error;
    if (!REFUSALS.has(error.cause.code)) throw error;
    const { memoryBytes } = prefixTier;
    const warning = `${error.message}: prefixes are not kept there until the next start`;
    return { prefixTier: memoryBytes === 0 ? null : { memoryBytes, folder: null }, warning };
  }
}
