/** Credentials for an object store: found in the places, and in the order, in which AWS's own tools look. */
import { ConnectionError } from '../../net/get.ts';
import { ModelError } from '../model-error.ts';
import type { Credentials } from './credentials.ts';
import { type Profile, readProfile } from './profile-files.ts';
import { assumeWithToken, fromContainer, fromInstance } from './credential-services.ts';

/** New ones are asked for so long before the old ones end, in milliseconds. */
const EARLY_MS = 5 * 60_000;

interface Known {
  readonly credentials: Credentials | null;
}

/** Credentials of a process, asked for when they are needed first, and again before they end. */
export class CredentialChain {
  readonly #env: NodeJS.ProcessEnv;
  #known: Promise<Known> | null = null;
  #profile: Promise<Profile | null> | null = null;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /**
   * @returns null where there are none: what is asked then must be public
   * @throws {ModelError} when a place that should have some gives none, never with a secret in it
   */
  async credentials(): Promise<Credentials | null> {
    const known = await this.#known;
    if (known !== null && !isEnding(known)) return known.credentials;
    this.#known = this.#find().then((credentials) => ({ credentials }));
    try {
      return (await this.#known).credentials;
    } catch (error) {
      this.#known = null;
      throw error;
    }
  }

  /** Keys that somebody wrote down, for whoever is not Amazon: what a machine is given is for Amazon alone. */
  async writtenCredentials(): Promise<Credentials | null> {
    return fromEnvironment(this.#env) ?? fromProfile(await this.profile());
  }

  /** Profile of AWS_PROFILE; null without one. @throws {ModelError} if it is named and not there */
  profile(): Promise<Profile | null> {
    this.#profile ??= readProfile(this.#env);
    return this.#profile;
  }

  /** As the environment or the profile says; null where neither does. @throws {ModelError} */
  async region(): Promise<string | null> {
    const { AWS_REGION, AWS_DEFAULT_REGION } = this.#env;
    const region = AWS_REGION || AWS_DEFAULT_REGION || (await this.profile())?.region || null;
    if (region === null || isRegion(region)) return region;
    throw new ModelError(
      'the region of AWS_REGION or the profile is none: expected such as us-east-1',
    );
  }

  async #find(): Promise<Credentials | null> {
    const written = fromEnvironment(this.#env);
    if (written !== null) return written;
    const region = (await this.region()) ?? 'us-east-1';
    const { AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile, AWS_ROLE_ARN: role } = this.#env;
    if (tokenFile && role) {
      return asked('AWS_WEB_IDENTITY_TOKEN_FILE', () =>
        assumeWithToken({ tokenFile, role }, region, this.#env),
      );
    }
    const profile = await this.profile();
    const found = fromProfile(profile);
    if (found !== null) return found;
    if (profile?.tokenFile != null && profile.role !== null) {
      const { tokenFile: file, role: arn } = profile;
      return asked(profile.from, () =>
        assumeWithToken({ tokenFile: file, role: arn }, region, this.#env),
      );
    }
    const {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: full,
      AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: relative,
    } = this.#env;
    if (full || relative) {
      return asked('AWS_CONTAINER_CREDENTIALS_*_URI', () => fromContainer(this.#env));
    }
    return fromInstance(this.#env);
  }
}

function isEnding({ credentials }: Known): boolean {
  const { expiresAt } = credentials ?? { expiresAt: null };
  return expiresAt !== null && expiresAt - Date.now() < EARLY_MS;
}

export function isRegion(text: string): boolean {
  return /^[a-z0-9-]{1,32}$/.test(text);
}

function fromEnvironment(env: NodeJS.ProcessEnv): Credentials | null {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = env;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) return null;
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    sessionToken: AWS_SESSION_TOKEN || null,
    expiresAt: null,
    from: 'AWS_ACCESS_KEY_ID',
  };
}

function fromProfile(profile: Profile | null): Credentials | null {
  if (profile?.accessKeyId == null || profile.secretAccessKey === null) return null;
  const { accessKeyId, secretAccessKey, sessionToken, from } = profile;
  return { accessKeyId, secretAccessKey, sessionToken, expiresAt: null, from };
}

/** An error of a place that was named is the operator's to know. */
async function asked(from: string, ask: () => Promise<Credentials>): Promise<Credentials> {
  try {
    return { ...(await ask()), from };
  } catch (error) {
    if (error instanceof ModelError) throw error;
    const why = error instanceof ConnectionError ? error.message : 'its answer has none';
    throw new ModelError(`no credentials of ${from}: ${why}`, { cause: error });
  }
}
