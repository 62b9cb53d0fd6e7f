/** Keeps answers short: what a long text costs is not what its body costs. */

/** By field; in an object for fields that lie in one. */
export type AnswerLimits = Readonly<Record<string, number | Readonly<Record<string, number>>>>;

/**
 * `body` with `limits` wherever it is JSON still and leaves them open, as a mutated or garbled one may.
 * The rest of its text stays as it is, but for an object that limits lie in.
 */
export function withLimits<T extends string | Uint8Array>(
  body: T,
  limits: AnswerLimits,
): T | string {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
  const fields = fieldsOf(text);
  if (fields === null) return body;
  const open = toText(openOf(fields, limits));
  if (open === null || open === '{}') return body;
  // The last of two fields with one name counts.
  const start = text.slice(0, text.lastIndexOf('}'));
  const separator = Object.keys(fields).length === 0 ? '' : ',';
  return `${start}${separator}${open.slice(1)}`;
}

/** Null for what nests too deeply, which is refused. */
function toText(value: object): string | null {
  try {
    return JSON.stringify(value);
  } catch {
    return null;
  }
}

function openOf(
  fields: Readonly<Record<string, unknown>>,
  limits: AnswerLimits,
): Readonly<Record<string, unknown>> {
  const open: Record<string, unknown> = {};
  for (const [name, limit] of Object.entries(limits)) {
    const value = fields[name] ?? undefined;
    if (typeof limit === 'number') {
      // Below 0 there is none.
      if (typeof value !== 'number' || value < 0) open[name] = limit;
      continue;
    }
    // A value that is no object is refused.
    if (value !== undefined && (typeof value !== 'object' || Array.isArray(value))) continue;
    const inner = openOf({ ...value }, limit);
    if (Object.keys(inner).length > 0) open[name] = { ...value, ...inner };
  }
  return open;
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
