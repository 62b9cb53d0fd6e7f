/** Which service class a request gets: what it asks for, and what its client may have. */
import type { Caller } from '../../front/caller.ts';
import {
  findClass,
  isBetter,
  type ServiceClass,
  type ServiceClasses,
} from '../../front/service-classes/service-class.ts';
import { ADMIN_CLIENT } from '../auth/api-keys.ts';
import { badRequest } from '../errors.ts';

/** Value of `service_tier` that lets the server choose. */
const ANY = 'auto';

/** Class of a client, by its key. */
export type ClassOfClient = (client: string) => string | undefined;

export class ServiceTiers {
  readonly #classes: ServiceClasses;
  readonly #classOf: ClassOfClient;

  /** @param classOf names the best class that a client may have, if its key says so */
  constructor(classes: ServiceClasses, classOf: ClassOfClient = () => undefined) {
    this.#classes = classes;
    this.#classOf = classOf;
  }

  get classes(): readonly ServiceClass[] {
    return this.#classes.classes;
  }

  /** For work that nobody waits for. */
  get last(): ServiceClass {
    return this.#classes.classes.at(-1) ?? this.#classes.usual;
  }

  /** The best that a client can have; the operator any. */
  bestOf(client: string): ServiceClass {
    const { classes, best } = this.#classes;
    if (client === ADMIN_CLIENT) return classes[0] ?? best;
    return this.#named(this.#classOf(client)) ?? best;
  }

  /**
   * A client that asks for more than it may have gets the best that it may have, as with OpenAI.
   * @param asked the request's `service_tier`
   * @throws ApiError 400 for an unknown class
   */
  grant(client: string, asked: string | null = null): ServiceClass {
    const usual = this.#named(this.#classOf(client)) ?? this.#classes.usual;
    const wanted = asked === null || asked === ANY ? usual : this.#require(asked);
    const best = this.bestOf(client);
    return isBetter(wanted, best) ? best : wanted;
  }

  #named(name: string | undefined): ServiceClass | undefined {
    return name === undefined ? undefined : findClass(this.classes, name);
  }

  #require(asked: string): ServiceClass {
    const found = this.#named(asked);
    if (found !== undefined) return found;
    const known = this.classes.flatMap(({ name, tiers }) => [...tiers, name]);
    throw badRequest(
      `\`service_tier\`: expected one of ${[ANY, ...known].join(', ')}.`,
      'service_tier',
      'invalid_value',
    );
  }
}

/** Class of a request: the last one if it is part of a batch, whatever it asks for. */
export function grantedClass(
  tiers: ServiceTiers,
  { client, isOfBatch = false }: Pick<Caller, 'client' | 'isOfBatch'>,
  asked: string | null = null,
): ServiceClass {
  const granted = tiers.grant(client, asked);
  return isOfBatch ? tiers.last : granted;
}

/** Name of a class in answers. */
export function tierNameOf({ name, tiers: [first] }: ServiceClass): string {
  return first ?? name;
}
