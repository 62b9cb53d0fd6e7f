/** JSON in the layout of the grammar, which is that of Python's `json.dumps`. */
export function dumps(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(dumps).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const members = Object.entries(value).map(
    ([key, item]) => `${JSON.stringify(key)}: ${dumps(item)}`,
  );
  return `{${members.join(', ')}}`;
}
