/** The hub that this process uses: as the environment says, but for what settings said since. */
import { type HubAccess, hubAccess } from './hub-repository.ts';

let given: Partial<HubAccess> = {};

/** How the whole process reaches the hub from now on. */
export function useHub(access: Pick<HubAccess, 'token' | 'isOffline'>): void {
  given = access;
}

/** @throws {ModelError} if the environment names no address */
export function usedHub(): HubAccess {
  return { ...hubAccess(), ...given };
}
