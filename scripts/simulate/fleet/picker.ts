import type { SimulatedRequest } from '../traffic.ts';
import type { Replica } from './replica.ts';

/** Chooses the replica that gets a request. */
export interface Picker {
  /** @param replicas those that are up, at least one */
  pick(request: SimulatedRequest, replicas: readonly Replica[], nowMs: number): Replica;
}
