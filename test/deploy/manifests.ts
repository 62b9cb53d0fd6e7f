/** The manifests in deploy/kubernetes, and the real schemas that they are checked against. */
import { Ajv, type ValidateFunction } from 'ajv';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import {
  KUSTOMIZE,
  SCHEMA_MODULES,
  type SchemaModule,
  schemaPath,
} from '../../scripts/kubernetes/schemas.ts';
import { KUBECTL, type Requirement } from '../support/needs.ts';

export const FOLDER = 'deploy/kubernetes';
const FILES = SCHEMA_MODULES.flatMap(({ files }) => files);

/** By default those of Kubernetes and its extensions. */
export function schemas(modules: readonly SchemaModule[] = SCHEMA_MODULES): Requirement {
  const files = modules.flatMap((module) => module.files);
  return {
    name: 'schemas (npx tsx scripts/kubernetes/fetch.ts, which takes Go)',
    isThere: files.every((file) => existsSync(schemaPath(file))),
  };
}

/** Program that renders a kustomization: kubectl, or the one that scripts/kubernetes/fetch.ts installs. */
const RENDER_COMMAND = KUBECTL.isThere
  ? (['kubectl', 'kustomize'] as const)
  : ([KUSTOMIZE, 'build'] as const);
export const RENDERER: Requirement = {
  name: 'kubectl, or kustomize (npx tsx scripts/kubernetes/fetch.ts, which takes Go)',
  isThere: KUBECTL.isThere || existsSync(KUSTOMIZE),
};

/** Parts that ../site can have. */
export const COMPONENTS = readdirSync(FOLDER).filter((name) =>
  readFileSync(join(FOLDER, name, 'kustomization.yaml'), 'utf8').includes('kind: Component'),
);

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

/** Edit of an operator to a kustomization's text. */
export type Edit = (text: string) => string;

/**
 * A copy of the manifests, one of whose kustomizations is changed.
 * @returns its folder, which is the caller's to remove
 */
export function editedCopy(overlay: string, edit: Edit): string {
  const folder = mkdtempSync(join(tmpdir(), 'chairlift-manifests-'));
  cpSync(FOLDER, folder, { recursive: true });
  const path = join(folder, overlay, 'kustomization.yaml');
  writeFileSync(path, edit(readFileSync(path, 'utf8')));
  return folder;
}

/** Renders the manifests that kubectl would send to a cluster. */
export function render(overlay: string, edit: Edit = (text) => text): Manifest[] {
  const [program, command] = RENDER_COMMAND;
  const folder = editedCopy(overlay, edit);
  try {
    const { status, stdout, stderr } = spawnSync(program, [command, join(folder, overlay)]);
    if (status !== 0) throw new Error(stderr.toString());
    return documents(stdout.toString());
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Takes away the # of these components in the site. */
export function withComponents(components: readonly string[]): Edit {
  return (text) =>
    components.reduce((before, name) => {
      const line = `#  - ../${name}\n`;
      if (!before.includes(line)) throw new Error(`the site does not name ${name}`);
      return before.replace(line, `  - ../${name}\n`);
    }, text);
}

/** The site with these components. */
export function renderSite(...components: readonly string[]): Manifest[] {
  return render('site', withComponents(components));
}

/** All components that go together, in as few sites as that takes. */
export const SITES: readonly (readonly string[])[] = [
  [],
  [
    'model-from-hub',
    'cache-volume',
    'queue-depth',
    'moving-streams',
    'monitoring',
    'inference-gateway',
  ],
  ['model-from-volume', 'keda', 'monitoring'],
  ['single-replica', 'model-from-hub'],
];

export function documents(text: string): Manifest[] {
  return parseAllDocuments(text).map((document): Manifest => document.toJS());
}

/** Everything that is written about Kubernetes, by path. */
export function texts(): Map<string, string> {
  const paths = readdirSync(FOLDER).flatMap((overlay) =>
    readdirSync(join(FOLDER, overlay)).map((file) => join(overlay, file)),
  );
  return new Map(paths.map((path) => [path, readFileSync(join(FOLDER, path), 'utf8')]));
}

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
interface JsonObject {
  readonly [key: string]: Json | undefined;
}

const isObject = (value: Json | undefined): value is JsonObject & Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * A schema that also refuses fields it does not name, as `kubectl --validate=strict` does; what
 * Kubernetes says with words of its own is put in JSON Schema's.
 */
function strict(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(strict);
  if (!isObject(schema)) return schema;
  if (schema['format'] === 'int-or-string' || schema['x-kubernetes-int-or-string'] === true) {
    return { type: ['integer', 'string'] };
  }
  const entries = Object.entries(schema).map(([key, value]): [string, Json] => {
    // Names of fields are no words of the schema's.
    if (key === 'properties' && isObject(value)) {
      const fields = Object.entries(value).map(([name, field]) => [name, strict(field ?? null)]);
      return [key, Object.fromEntries(fields) as Json];
    }
    // Go's expressions may disregard case, which JavaScript's say elsewhere; small letters will do.
    if (key === 'pattern' && typeof value === 'string') return [key, value.replace('(?i)', '')];
    return [key, strict(value ?? null)];
  });
  const isOpen =
    schema['properties'] === undefined ||
    schema['additionalProperties'] !== undefined ||
    schema['x-kubernetes-preserve-unknown-fields'] === true;
  const made: Record<string, Json> = Object.fromEntries(entries);
  return isOpen ? made : { ...made, additionalProperties: false };
}

interface Crd {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: Json };
    }[];
  };
}

interface Definition {
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
}

/** By `apiVersion kind`. */
export function loadSchemas(): (manifest: Manifest) => string[] {
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  const found = new Map<string, () => ValidateFunction>();
  for (const file of FILES) {
    const text = readFileSync(schemaPath(file), 'utf8');
    if (file.endsWith('.json')) {
      const { definitions } = JSON.parse(text) as {
        definitions: Record<string, Definition & Json>;
      };
      ajv.addSchema({ $id: 'core', definitions: strict(definitions) });
      for (const [name, definition] of Object.entries(definitions)) {
        for (const { group, version, kind } of definition['x-kubernetes-group-version-kind'] ??
          []) {
          const key = `${group === '' ? '' : `${group}/`}${version} ${kind}`;
          found.set(key, () => ajv.compile({ $ref: `core#/definitions/${name}` }));
        }
      }
    } else {
      const { spec } = parse(text) as Crd;
      for (const { name, schema } of spec.versions) {
        const compile = () => ajv.compile(strict(schema.openAPIV3Schema) as object);
        found.set(`${spec.group}/${name} ${spec.names.kind}`, compile);
      }
    }
  }
  return (manifest) => {
    const key = `${manifest.apiVersion} ${manifest.kind}`;
    // It moved with its schema.
    const compile = found.get(key.replace('llm-d.ai/', 'inference.networking.x-k8s.io/'));
    if (!compile) return [`there is no schema of ${key}`];
    const validate = compile();
    validate(manifest);
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) =>
        `${manifest.kind} ${manifest.metadata.name}${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  };
}
