/** Keeps answers short: what a long text costs is not what its body costs. */

/**
 * `body` with `limits` wherever it is JSON still and leaves them open, as a mutated or garbled one may.
 * The rest of its text stays as it is.
 */
export function withLimits<T extends string | Uint8Array>(
  body: T,
  limits: Readonly<Record<string, number>>,
): T | string {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
  const fields = fieldsOf(text);
  if (fields === null) return body;
  const open = Object.entries(limits).filter(([name]) => typeof fields[name] !== 'number');
  if (open.length === 0) return body;
  // Of two fields with one name the last one counts.
  const start = text.slice(0, text.lastIndexOf('}'));
  const separator = Object.keys(fields).length === 0 ? '' : ',';
  return `${start}${separator}${JSON.stringify(Object.fromEntries(open)).slice(1)}`;
}

/** @returns null for what is not a JSON object */
export function fieldsOf(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? { ...value }
      : null;
  } catch {
    return null;
  }
}
