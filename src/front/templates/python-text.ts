/** Values of templates as Python writes them. */

/** As the template engine has a value. */
export interface TemplateValue {
  readonly type: string;
  readonly value: unknown;
  toString(): string;
}

/** Text as `str()` gives it; empty for an undefined value, as in Jinja. */
export function pythonText(value: TemplateValue): string {
  return value.type === 'StringValue' ? String(value.value) : written(value);
}

function written(value: TemplateValue): string {
  const { type, value: inner } = value;
  if (type === 'UndefinedValue') return '';
  if (type === 'NullValue') return 'None';
  if (inner === true) return 'True';
  if (inner === false) return 'False';
  if (typeof inner === 'string') return quoted(inner);
  if (Array.isArray(inner)) {
    const items = (inner as TemplateValue[]).map(written);
    if (type !== 'TupleValue') return `[${items.join(', ')}]`;
    return items.length === 1 ? `(${items[0]},)` : `(${items.join(', ')})`;
  }
  if (inner instanceof Map) {
    const members = [...(inner as Map<string | number, TemplateValue>)].map(
      ([key, item]) => `${typeof key === 'number' ? key : quoted(key)}: ${written(item)}`,
    );
    return `{${members.join(', ')}}`;
  }
  return value.toString();
}

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Text as `repr()` gives it. */
function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll(/[\\\p{C}\p{Z}'"]/gu, (character) => {
    if (character === quote || character === '\\') return `\\${character}`;
    if (character === ' ' || character === '"' || character === "'") return character;
    return SHORT[character] ?? escapeOf(character.codePointAt(0) ?? 0);
  });
  return quote + escaped + quote;
}

function escapeOf(code: number): string {
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
