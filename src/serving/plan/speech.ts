import type { Options } from '../../settings/options.ts';
import { UsageError } from '../../settings/usage-error.ts';

/**
 * Checks that the flags are ones that a model that hears can have.
 * @throws UsageError naming the one that it can't have
 */
export function requireHearing(options: Options<'kvCacheDtype' | 'draftModel'>): void {
  const refuse = (flag: string, why: string): never => {
    throw new UsageError(`${flag} is not for a model that hears: ${why}`);
  };
  if (options.kvCacheDtype === 'int8') {
    refuse('--kv-cache-dtype int8', "a window's keys and values are read as they are");
  }
  if (options.draftModel !== undefined) refuse('--draft-model', 'a draft model hears nothing');
}
