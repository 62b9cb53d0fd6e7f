/** Operations, as the server's OpenAPI document has them. */
import { ROOT } from '../root.ts';

export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly format?: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required: boolean;
}

export interface Content {
  readonly schema?: Schema;
  readonly example?: unknown;
}

export interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

let document: Promise<Document> | undefined;

/** The document is read once, when the first form is opened. */
export async function findOperation(method: string, path: string): Promise<Operation> {
  document ??= read();
  const { paths } = await document;
  return paths[path]?.[method] ?? {};
}

async function read(): Promise<Document> {
  try {
    const response = await fetch(`${ROOT}/openapi.json`);
    return (await response.json()) as Document;
  } catch (error) {
    // The next form that is opened tries again.
    document = undefined;
    throw error;
  }
}

/** A body to begin with: the example, or the fields that must be there. */
export function firstBody({ example, schema = {} }: Content): string {
  if (example !== undefined) return JSON.stringify(example, null, 2);
  const { properties = {}, required = [] } = schema;
  const fields = required.map((name) => [name, emptyValue(properties[name] ?? {})]);
  return JSON.stringify(Object.fromEntries(fields), null, 2);
}

function emptyValue({ type, anyOf, enum: values, default: byDefault }: Schema): unknown {
  if (byDefault !== undefined) return byDefault;
  if (values !== undefined) return values[0];
  const [first] = anyOf ?? [];
  if (first !== undefined) return emptyValue(first);
  switch (Array.isArray(type) ? type[0] : type) {
    case 'array':
      return [];
    case 'object':
      return {};
    case 'integer':
    case 'number':
      return 0;
    case 'boolean':
      return false;
    case 'null':
      return null;
    default:
      return '';
  }
}
