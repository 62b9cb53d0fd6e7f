/** Settings of a server, and where each came from. */
import type { JsonObject } from '../json-object.ts';

/** Source of a value; the first one that has a value wins. */
export type SettingSource = 'flag' | 'environment' | 'config file' | 'default';

export interface Setting {
  /** Such as `--port`. */
  readonly flag: string;
  /** Such as `CHAIRLIFT_PORT`. */
  readonly environment: string;
  readonly meaning: string;
  readonly source: SettingSource;
  /** Null where nothing is set. */
  readonly value: unknown;
  /** Default value, as text for people. */
  readonly defaultText: string | null;
  /** Nobody gets to see its value. */
  readonly isSecret: boolean;
}

/** Credentials in an address such as `redis://name:password@host`. */
const CREDENTIALS = /\/\/[^/@\s"]+@/g;

/** Without what is secret. */
export function describeSetting(setting: Setting): JsonObject {
  const { flag, environment, meaning, source, value, defaultText, isSecret } = setting;
  const isSet = value !== undefined && value !== null;
  return {
    flag,
    environment,
    meaning,
    source,
    value: isSet && !isSecret ? shown(value) : null,
    default: defaultText,
    is_set: isSet,
    is_secret: isSecret,
  };
}

function shown(value: unknown): unknown {
  if (value === Infinity) return 'unlimited';
  const text = JSON.stringify(value) ?? 'null';
  const json: unknown = JSON.parse(text.replaceAll(CREDENTIALS, '//***@'));
  return json;
}
