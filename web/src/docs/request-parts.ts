/** Request that a form comes to: an address, headers, a body, and the same for a command line. */
import { apiKey } from '../api/key.ts';
import { ROOT } from '../root.ts';
import type { Parameter } from './operations.ts';

export interface FormValues {
  /** Values of the path and the query, by name. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Body of JSON; null where there is none. */
  readonly text: string | null;
  /** Body of a form with a file; null where there is none. */
  readonly form: FormData | null;
}

/** @param path with `{name}` for what varies */
export function addressOf(
  path: string,
  known: readonly Parameter[],
  { parameters }: FormValues,
): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(parameters[name] ?? ''),
  );
  const query = new URLSearchParams();
  for (const { name, in: place } of known) {
    const value = parameters[name] ?? '';
    if (place === 'query' && value !== '') query.set(name, value);
  }
  return query.size === 0 ? filled : `${filled}?${query}`;
}

export function initOf(method: string, { text, form }: FormValues): RequestInit {
  const headers = new Headers();
  if (apiKey.value !== '') headers.set('authorization', `Bearer ${apiKey.value}`);
  // A form's own type has the boundary of its parts.
  if (text !== null) headers.set('content-type', 'application/json');
  const body = form ?? text;
  return { method: method.toUpperCase(), headers, ...(body === null ? {} : { body }) };
}

/** Without the key: it is `$KEY` there. */
export function curlOf(method: string, address: string, { text, form }: FormValues): string {
  const parts = [`curl ${quoted(location.origin + ROOT + address)}`];
  if (method !== 'get' && !(method === 'post' && text !== null)) {
    parts.push(`-X ${method.toUpperCase()}`);
  }
  if (apiKey.value !== '') parts.push(`-H "authorization: Bearer $KEY"`);
  if (text !== null) parts.push(`-H 'content-type: application/json'`, `-d ${quoted(text)}`);
  for (const [name, value] of form ?? []) {
    parts.push(`-F ${quoted(`${name}=${typeof value === 'string' ? value : `@${value.name}`}`)}`);
  }
  return parts.join(' \\\n  ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Why a text is no JSON; null for one that is. */
export function jsonFault(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
