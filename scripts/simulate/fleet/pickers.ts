/** Pickers of load balancers, and a fleet's endpoint picker. */
import type { Random } from '../../../src/bench/random.ts';
import { blockHash, saltHash } from '../../../src/engine/kv-cache/prefix-index.ts';
import type { SimulatedRequest } from '../traffic.ts';
import { EndpointPicker } from './endpoint-picker.ts';
import type { Picker } from './picker.ts';
import type { Replica } from './replica.ts';

export const PICKERS = {
  'round robin': () => new RoundRobin(),
  'least connections': (random: Random) => new LeastConnections(random),
  'prefix affinity': () => new PrefixAffinity(),
  'endpoint picker': (random: Random) => new EndpointPicker(random),
} satisfies Record<string, (random: Random) => Picker>;

class RoundRobin implements Picker {
  #next = 0;

  pick(_request: SimulatedRequest, replicas: readonly Replica[]): Replica {
    return at(replicas, this.#next++ % replicas.length);
  }
}

class LeastConnections implements Picker {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** From a random place on, so that those with as many take turns. */
  pick(_request: SimulatedRequest, replicas: readonly Replica[]): Replica {
    const offset = this.#random.integer(0, replicas.length - 1);
    let best = at(replicas, offset);
    for (let index = 1; index < replicas.length && best.numOutstanding > 0; index++) {
      const other = at(replicas, (offset + index) % replicas.length);
      if (other.numOutstanding < best.numOutstanding) best = other;
    }
    return best;
  }
}

/** Places of each replica on the ring. */
const POINTS = 40;
/** Times the others' average that a replica may have, as in deploy/haproxy. */
const MAX_SHARE = 2;

/** As HAProxy's consistent hash with bounded load, by a conversation's beginning. */
class PrefixAffinity implements Picker {
  #ring: readonly { readonly hash: number; readonly replica: Replica }[] = [];
  #replicas: readonly Replica[] = [];

  pick({ client }: SimulatedRequest, replicas: readonly Replica[]): Replica {
    if (replicas !== this.#replicas) this.#build(replicas);
    const outstanding = replicas.reduce((sum, replica) => sum + replica.numOutstanding, 0);
    const most = Math.ceil((MAX_SHARE * (outstanding + 1)) / replicas.length);
    const start = this.#placeOf(spread(saltHash(client)));
    for (let step = 0; step < this.#ring.length; step++) {
      const { replica } = at(this.#ring, (start + step) % this.#ring.length);
      if (replica.numOutstanding < most) return replica;
    }
    return at(replicas, 0);
  }

  #build(replicas: readonly Replica[]): void {
    this.#replicas = replicas;
    this.#ring = replicas
      .flatMap((replica) =>
        Array.from({ length: POINTS }, (_, point) => ({
          hash: spread(replica.index * POINTS + point),
          replica,
        })),
      )
      .sort((a, b) => a.hash - b.hash);
  }

  /** The first point at or after a hash. */
  #placeOf(hash: number): number {
    let [low, high] = [0, this.#ring.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at(this.#ring, middle).hash < hash) low = middle + 1;
      else high = middle;
    }
    return low % this.#ring.length;
  }
}

function spread(value: number): number {
  return blockHash(value, Int32Array.of(value | 0, ~value));
}

function at<T>(values: readonly T[], index: number): T {
  const value = values[index];
  if (value === undefined) throw new Error('there is no replica');
  return value;
}
