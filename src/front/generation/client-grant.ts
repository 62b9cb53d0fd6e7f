/** What a request may not choose itself: how urgent it is, and whose cached prefixes it finds. */
import type { GenerationRequest } from './generation.ts';

export interface GrantRules {
  /** Both ends belong to it; lower goes first. */
  readonly priorities: { readonly min: number; readonly max: number };
  /** Whether clients with keys of their own find each other's prompts in the prefix cache. */
  readonly sharePrefixCache: boolean;
}

/** Without API keys the request's own `client`, from its `user` field, says whose it is. */
export function grantTo(
  client: string,
  { priority = 0, cacheSalt = '' }: Pick<GenerationRequest, 'priority' | 'cacheSalt'>,
  { priorities: { min, max }, sharePrefixCache }: GrantRules,
): Pick<GenerationRequest, 'priority' | 'client' | 'cacheSalt'> {
  const granted = { priority: Math.min(Math.max(priority, min), max) };
  if (client === '') return granted;
  if (sharePrefixCache) return { ...granted, client };
  // As JSON, one client's salt cannot equal another client's.
  return { ...granted, client, cacheSalt: JSON.stringify([client, cacheSalt]) };
}
