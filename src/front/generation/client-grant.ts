/** Values that a request may not choose itself: its priority, and whose cached prefixes it finds. */
import type { ServiceClass } from '../service-classes/service-class.ts';
import type { GenerationRequest } from './generation.ts';

export interface GrantRules {
  /** Levels within a service class, from its own on. Both ends belong to it; lower goes first. */
  readonly priorities: { readonly min: number; readonly max: number };
  /** Whether clients with keys of their own find each other's prompts in the prefix cache. */
  readonly sharePrefixCache: boolean;
}

/**
 * Without API keys the request's own `client`, from its `user` field, says whose it is.
 * @param serviceClass that it gets
 */
export function grantTo(
  client: string,
  { priority = 0, cacheSalt = '' }: Pick<GenerationRequest, 'priority' | 'cacheSalt'>,
  rules: GrantRules,
  serviceClass: ServiceClass,
): Pick<GenerationRequest, 'serviceClass' | 'priority' | 'client' | 'cacheSalt'> {
  const { min, max } = rules.priorities;
  const within = Math.min(Math.max(priority, min), max);
  const granted = { serviceClass, priority: serviceClass.priority + within };
  if (client === '') return granted;
  return { ...granted, client, cacheSalt: saltOf(client, cacheSalt, rules) };
}

/**
 * Salt that limits who finds a request's prefixes in the cache.
 * @param salt that the request names
 */
export function saltOf(
  client: string,
  salt: string,
  { sharePrefixCache }: Pick<GrantRules, 'sharePrefixCache'>,
): string {
  if (client === '' || sharePrefixCache) return salt;
  // As JSON, one client's salt cannot equal another client's.
  return JSON.stringify([client, salt]);
}
